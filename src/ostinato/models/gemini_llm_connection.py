"""Live conversations with Gemini models. `Gemini.connect` opens them; the live flow uses them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias

from .. import types
from .._aclosing import Aclosing
from ..errors import ModelRequestError
from ..features.environment import GoogleLLMVariant
from .base_llm_connection import CANCELLED_CALLS, BaseLlmConnection
from .llm_response import LlmResponse
from .wire.gemini_contents import developer_content, wire_content
from .wire.gemini_live import as_one_text, responses_of, without_sound
from .wire.live_turn import LiveTurn

RealtimeInput: TypeAlias = types.Blob | types.ActivityStart | types.ActivityEnd

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


def speaks_in_realtime_only(model: str) -> bool:
    """Return whether a model takes turns only as history, and all else as realtime input."""
    found = _VERSION.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (3, 1)


def _as_it_is(error: Exception) -> Exception:
    return error


class GeminiLlmConnection(BaseLlmConnection):
    """A live conversation with a Gemini model (Spec 1 §17).

    Args:
      gemini_session: the open `GeminiLiveSession`, or an `AsyncSession` of google-genai.
      api_backend: the service of the session.
      model_version: the model's name.
      in_our_words: maps an error of the SDK to a ProviderError.
    """

    def __init__(
        self,
        gemini_session: Any,
        api_backend: GoogleLLMVariant = GoogleLLMVariant.VERTEX_AI,
        model_version: str | None = None,
        in_our_words: Callable[[Exception], Exception] = _as_it_is,
    ) -> None:
        self._session = gemini_session
        self._on_vertex = api_backend is GoogleLLMVariant.VERTEX_AI
        self._realtime_only = speaks_in_realtime_only(model_version or "")
        self._model = model_version
        self._to_provider_error = in_our_words

    async def send_history(self, history: list[types.Content]) -> None:
        """Send the history; the model answers if it ends with a user message."""
        contents = without_sound(history)
        if not contents:
            return
        answer = self._realtime_only or contents[-1].role == "user"
        if self._realtime_only and self._on_vertex:
            contents = [as_one_text(contents)]
        await self._send_turns(contents, answer)

    async def send_content(self, content: types.Content) -> None:
        """Send a user message, which the model answers, or function responses."""
        parts = content.parts or []
        answers = [part.function_response for part in parts if part.function_response]
        if answers:
            plain = [answer.model_dump(mode="json", exclude_none=True) for answer in answers]
            await self._await_send(self._session.send_tool_response(function_responses=plain))
        elif self._realtime_only and len(parts) == 1 and parts[0].text:
            await self._await_send(self._session.send_realtime_input(text=parts[0].text))
        else:
            await self._send_turns([content], True)

    async def send_realtime(self, input: RealtimeInput) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Send audio or an image, or the start or end of user activity.

        Raises:
          ModelRequestError: the model does not accept this kind of input.
        """
        if isinstance(input, types.ActivityStart):
            await self._await_send(self._session.send_realtime_input(activity_start={}))
            return
        if isinstance(input, types.ActivityEnd):
            await self._await_send(self._session.send_realtime_input(activity_end={}))
            return
        mime_type = input.mime_type or ""
        blob = {"data": input.data, "mime_type": mime_type}
        if mime_type.startswith("audio/"):
            await self._await_send(self._session.send_realtime_input(audio=blob))
        elif mime_type.startswith("image/"):
            await self._await_send(self._session.send_realtime_input(video=blob))
        elif not self._realtime_only:
            await self._await_send(self._session.send_realtime_input(media=blob))
        else:
            raise ModelRequestError(
                f"Google Gemini (model {self._model!r}) takes sound and pictures as realtime "
                f"input, not {mime_type or 'a blob without mime_type'!r}. Send video as pictures.",
                provider="google",
                model=self._model or "",
            )

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's responses until the connection ends.

        Raises:
          ProviderError: the connection ended; the class says why.
        """
        turn = LiveTurn(self._model, self._session.session_id)
        while True:
            try:
                async with Aclosing(self._session.receive()) as messages:
                    async for message in messages:
                        for response in responses_of(message, turn):
                            yield response
                        taken_back = message.tool_call_cancellation
                        if taken_back is not None and taken_back.ids:
                            metadata = {CANCELLED_CALLS: [*taken_back.ids]}
                            yield turn.response(custom_metadata=metadata)
            except Exception as error:  # boundary: map the SDK's errors to ours
                raise self._to_provider_error(error) from None

    async def close(self) -> None:
        """Close the connection."""
        await self._session.close()

    async def _send_turns(self, contents: Sequence[types.Content], answer: bool) -> None:
        convert = wire_content if self._on_vertex else developer_content
        turns = [convert(content) for content in contents]
        await self._await_send(self._session.send_client_content(turns=turns, turn_complete=answer))

    async def _await_send(self, sending: Any) -> None:
        try:
            await sending
        except Exception as error:  # boundary: map the SDK's errors to ours
            raise self._to_provider_error(error) from None
