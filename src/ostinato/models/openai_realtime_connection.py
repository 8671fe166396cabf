"""Live conversations over a WebSocket to OpenAI's Realtime API. `OpenAIRealtimeLlm.connect` opens
them; the live flow uses them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from .. import types
from .._log import get_logger
from .base_llm_connection import BaseLlmConnection
from .invalid_args import call_args
from .llm_response import LlmResponse
from .wire.answer_facts import usage_of
from .wire.faults import BadAnswer, Unsendable
from .wire.live_turn import LiveTurn
from .wire.media import data_url
from .wire.reading import fields_of, text_of
from .wire.realtime_items import RATE, Item, items_of

logger = get_logger(__name__)

# Errors of two sides speaking at once; what they are about has happened, or is not needed.
_HARMLESS = frozenset(
    (
        "conversation_already_has_active_response",
        "response_cancel_not_active",
        "input_audio_buffer_commit_empty",
    )
)
_STOPPED = {"max_output_tokens": "MAX_TOKENS", "content_filter": "SAFETY"}


class OpenAIRealtimeConnection(BaseLlmConnection):
    """A live conversation with an OpenAI realtime model (Spec 1 §17).

    Args:
      connection: the open `ClientConnection` of websockets, its session set up.
      model: the model's name.
      session_id: the id of the session.
      formats: the audio formats of the user and of the model.
      interrupts: whether the user's speech interrupts the model.
      in_our_words: maps an error of the library to a ProviderError.
      cleaned: takes secrets out of what the provider says.
    """

    def __init__(
        self,
        connection: Any,
        model: str,
        *,
        session_id: str | None = None,
        formats: tuple[str, str] = ("audio/pcm", "audio/pcm"),
        interrupts: bool = True,
        in_our_words: Callable[[Exception], Exception] = lambda error: error,
        cleaned: Callable[[str], str] = str,
    ) -> None:
        self._connection = connection
        self._turn = LiveTurn(model, session_id)
        self._heard_as, spoken_as = formats
        self._spoken_as = f"{spoken_as};rate={RATE}" if spoken_as == "audio/pcm" else spoken_as
        self._interrupts = interrupts
        self._to_provider_error = in_our_words
        self._clean_detail = cleaned
        self._active = False  # whether a response is in progress
        self._wanted = False  # whether to request another once it has ended
        self._sounded = False  # whether audio was received since the user last spoke
        self._open_calls: set[str] = set()
        self._calls: list[types.FunctionCall] = []

    async def send_history(self, history: list[types.Content]) -> None:
        """Send the history; the model answers if it ends with a user message."""
        sent = False
        for content in history:
            sent |= await self._send_items(content)
        if sent and history[-1].role == "user":
            await self._ask()

    async def send_content(self, content: types.Content) -> None:
        """Send a user message, which the model answers, or function responses."""
        parts = content.parts or []
        answers = [part.function_response for part in parts if part.function_response]
        await self._send_items(content)
        self._open_calls.difference_update(answer.id or "" for answer in answers)
        if answers and self._open_calls:
            return  # the model continues once it has all answers
        if self._active and not answers:
            await self._send({"type": "response.cancel"})
        await self._ask()

    async def send_realtime(
        self, blob: types.Blob | types.ActivityStart | types.ActivityEnd
    ) -> None:
        """Send audio or an image, or the start or end of user activity."""
        if isinstance(blob, types.ActivityStart):
            if self._active and self._interrupts:
                await self._send({"type": "response.cancel"})
            return
        if isinstance(blob, types.ActivityEnd):
            await self._send({"type": "input_audio_buffer.commit"})
            await self._ask()
            return
        mime_type = blob.mime_type or ""
        if mime_type.startswith("image/"):
            image = {"type": "input_image", "image_url": data_url(mime_type, blob.data or b"")}
            await self._create({"type": "message", "role": "user", "content": [image]})
            return
        self._check_sound(mime_type)
        audio = base64.b64encode(blob.data or b"").decode()
        await self._send({"type": "input_audio_buffer.append", "audio": audio})

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's responses until the connection ends.

        Raises:
          ProviderError: the connection ended; the class says why.
        """
        while True:
            try:
                event = fields_of(_json(await self._connection.recv(decode=False)))
                for response in self._responses(event):
                    yield response
                if self._wanted and not self._active:
                    await self._ask()
            except Exception as error:  # boundary: map the library's errors to ours
                raise self._to_provider_error(error) from None

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    # -- to the model

    def _check_sound(self, mime_type: str) -> None:
        kind, _, parameters = mime_type.partition(";")
        rate = parameters.replace(" ", "").removeprefix("rate=")
        if kind != self._heard_as or (kind == "audio/pcm" and rate not in ("", str(RATE))):
            wanted = f"{self._heard_as};rate={RATE}" if self._heard_as == "audio/pcm" else ""
            error = Unsendable(
                f"{mime_type or 'a blob without mime_type'}: this session takes "
                f"{wanted or self._heard_as} and images. Convert it, or set input_format."
            )
            raise self._to_provider_error(error)

    async def _ask(self) -> None:
        """Request a response, now or once the active response has ended."""
        self._wanted = self._active
        if not self._active:
            self._active = True
            await self._send({"type": "response.create"})

    async def _send_items(self, content: types.Content) -> bool:
        """Send a content; return whether there was anything to send."""
        try:
            items = items_of(content)
        except Unsendable as error:
            raise self._to_provider_error(error) from None
        for item in items:
            await self._create(item)
        return bool(items)

    async def _create(self, item: Item) -> None:
        await self._send({"type": "conversation.item.create", "item": item})

    async def _send(self, event: dict[str, Any]) -> None:
        try:
            await self._connection.send(json.dumps(event, ensure_ascii=False))
        except Exception as error:  # boundary: map the library's errors to ours
            raise self._to_provider_error(error) from None

    # -- from the model

    def _responses(self, event: dict[str, Any]) -> Iterator[LlmResponse]:
        """Yield the responses for a server event."""
        turn = self._turn
        match text_of(event.get("type")):
            case "response.output_audio.delta":
                self._sounded = True
                data = base64.b64decode(text_of(event.get("delta")))
                yield turn.sound(data, self._spoken_as)
            case "response.output_audio_transcript.delta":
                yield from turn.spoken(text_of(event.get("delta")), False)
            case "response.output_audio_transcript.done":
                yield from turn.spoken(None, True)
            case "response.output_text.delta":
                yield from turn.text(text_of(event.get("delta")))
            case "response.created":
                self._active = True
            case "response.output_item.done":
                self._note_call(fields_of(event.get("item")))
            case "response.done":
                yield from self._done(fields_of(event.get("response")))
            case "input_audio_buffer.speech_started":
                yield from self._report_interruption()
            case "conversation.item.input_audio_transcription.delta":
                yield from turn.heard(text_of(event.get("delta")), False)
            case "conversation.item.input_audio_transcription.completed":
                yield from turn.heard_all(text_of(event.get("transcript")))
            case "conversation.item.input_audio_transcription.failed" | "error":
                yield from self._report_error(fields_of(event.get("error")))
            case _:
                return

    def _note_call(self, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            self._calls.append(
                types.FunctionCall(
                    id=text_of(item.get("call_id")),
                    name=text_of(item.get("name")),
                    args=call_args(text_of(item.get("arguments"))),
                )
            )

    def _report_interruption(self) -> Iterator[LlmResponse]:
        """Report that the user interrupts the model, so that playback stops."""
        if self._interrupts and (self._active or self._sounded):
            self._sounded = False
            yield from self._turn.end(complete=False, interrupted=True)

    def _done(self, response: dict[str, Any]) -> Iterator[LlmResponse]:
        """Yield the final responses of a finished model response."""
        self._active = False
        counts = fields_of(response.get("usage"))  # the other APIs say `tokens_details`
        usage = usage_of(
            counts and {**counts, "input_tokens_details": counts.get("input_token_details")}
        )
        if usage is not None:
            yield self._turn.response(usage_metadata=usage)
        status = text_of(response.get("status"))
        details = fields_of(response.get("status_details"))
        calls, self._calls = self._calls, []
        if status == "completed" and calls:
            self._open_calls = {call.id or "" for call in calls}
            yield from self._turn.calls(calls)
            return
        yield from self._turn.end_transcriptions()
        if status == "failed":
            yield from self._report_error(fields_of(details.get("error")))
        reason = _STOPPED.get(text_of(details.get("reason")))
        if status == "incomplete" and reason is not None:
            yield from self._turn.end_text()
            text = f"The response ended early: {details.get('reason')}."
            yield self._turn.response(error_code=reason, error_message=text)
        yield from self._turn.end(complete=True, interrupted=status == "cancelled")

    def _report_error(self, error: dict[str, Any]) -> Iterator[LlmResponse]:
        """Yield an error response; the connection stays open."""
        code = text_of(error.get("code")) or text_of(error.get("type")) or "UNKNOWN_ERROR"
        if code in _HARMLESS:
            logger.info("OpenAI Realtime: %s", code)
            return
        text = self._clean_detail(text_of(error.get("message")))
        yield self._turn.response(error_code=code, error_message=text)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise BadAnswer("a message is not JSON") from error
