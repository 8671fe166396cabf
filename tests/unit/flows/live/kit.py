"""A live model without a network: connections that follow a script, and a talk over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ostinato import types
from ostinato.agents import LiveRequestQueue, RunConfig
from ostinato.events import Event
from ostinato.models import BaseLlm, LlmRequest, LlmResponse
from ostinato.models.base_llm_connection import CANCELLED_CALLS, BaseLlmConnection
from ostinato.utils.context_utils import Aclosing
from tests.unit.flows.kit import SESSION, USER, Talk

HEARD = "heard"
"""A step of a script: wait for the next thing that is sent, but the history."""

DONE = LlmResponse(turn_complete=True)
PCM = "audio/pcm;rate=24000"


def text(words: str, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text=words)]), partial=partial
    )


def sound(data: bytes) -> LlmResponse:
    blob = types.Blob(data=data, mime_type=PCM)
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(inline_data=blob)]))


def call(name: str, call_id: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def calls(*parts: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[*parts]))


def taken_back(*call_ids: str) -> LlmResponse:
    return LlmResponse(custom_metadata={CANCELLED_CALLS: [*call_ids]})


def heard(words: str, finished: bool) -> LlmResponse:
    said = types.Transcription(text=words, finished=finished)
    return LlmResponse(input_transcription=said, partial=not finished)


def spoke(words: str, finished: bool) -> LlmResponse:
    said = types.Transcription(text=words, finished=finished)
    return LlmResponse(output_transcription=said, partial=not finished)


def handle(name: str) -> LlmResponse:
    update = types.LiveServerSessionResumptionUpdate(new_handle=name, resumable=True)
    return LlmResponse(live_session_resumption_update=update)


GO_AWAY = LlmResponse(go_away=types.LiveServerGoAway(time_left="10s"))


class Scripted(BaseLlmConnection):
    """A connection that yields the responses of a script.

    A step is a response, HEARD, an exception to raise, an asyncio.Event to wait for, a function to
    call, or None, which ends the connection.
    """

    def __init__(self, script: list[Any]) -> None:
        self._script = script
        self._ended = False
        self.history: list[types.Content] | None = None
        self.sent: list[Any] = []
        self.closed = False
        self._arrived: asyncio.Queue[None] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        self.history = list(history)

    async def send_content(self, content: types.Content) -> None:
        self.sent.append(content)
        self._arrived.put_nowait(None)

    async def send_realtime(
        self, blob: types.Blob | types.ActivityStart | types.ActivityEnd
    ) -> None:
        self.sent.append(blob)
        self._arrived.put_nowait(None)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while self._script and not self._ended:
            step = self._script.pop(0)
            if step is None:
                self._ended = True
                return
            if step == HEARD:
                await self._arrived.get()
            elif isinstance(step, BaseException):
                raise step
            elif isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, LlmResponse):
                yield step
                if step.turn_complete:
                    return
            else:
                step()
        if not self._ended:
            await asyncio.Event().wait()

    async def close(self) -> None:
        self.closed = True

    @property
    def texts(self) -> list[str]:
        """What was sent, shortened: texts, answers as `name=response`, kinds of anything else."""
        return [_short(sent) for sent in self.sent]


def _short(sent: Any) -> str:
    if not isinstance(sent, types.Content):
        return type(sent).__name__
    part = (sent.parts or [types.Part()])[0]
    if part.function_response is not None:
        return f"{part.function_response.name}={part.function_response.response}"
    return part.text or ""


class LiveModel(BaseLlm):
    """A live model whose connections follow scripts, one each."""

    model: str = "live"
    scripts: list[list[Any]] = []
    connections: list[Scripted] = []
    requests: list[LlmRequest] = []

    def __init__(self, *scripts: list[Any]) -> None:
        super().__init__(model="live")
        self.scripts = [list(script) for script in scripts]
        self.connections = []
        self.requests = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise AssertionError("a live run asks over its connection")
        yield

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[Scripted]:
        self.requests.append(
            llm_request.model_copy(
                update={
                    "live_connect_config": llm_request.live_connect_config.model_copy(deep=True)
                }
            )
        )
        step = self.scripts.pop(0)
        if isinstance(step, BaseException):
            raise step
        connection = Scripted(step)
        self.connections.append(connection)
        try:
            yield connection
        finally:
            await connection.close()


def said(words: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=words)])


def live(
    talk: Talk, queue: LiveRequestQueue, config: RunConfig | None = None
) -> AsyncGenerator[Event, None]:
    return talk.runner.run_live(
        user_id=USER, session_id=SESSION, live_request_queue=queue, run_config=config
    )


async def converse(
    talk: Talk,
    queue: LiveRequestQueue,
    config: RunConfig | None = None,
    *,
    until: Callable[[Event], Any] = lambda event: event.turn_complete,
) -> list[Event]:
    """Run live and return the events; the queue is closed at the event that `until` wants."""
    events: list[Event] = []
    async with asyncio.timeout(60), Aclosing(live(talk, queue, config)) as run:
        async for event in run:
            events.append(event)
            if until(event):
                queue.close()
    return events


def line(event: Event) -> str:
    """An event in one line: author, then what it holds."""
    words = [event.author]
    for part in (event.content.parts if event.content else None) or ():
        if part.text:
            words.append(part.text)
        elif part.function_call:
            words.append(f"{part.function_call.name}({part.function_call.id})")
        elif part.function_response:
            words.append(f"{part.function_response.name}={part.function_response.response}")
        elif part.inline_data:
            words.append("sound")
        elif part.file_data:
            words.append("file")
    if event.input_transcription:
        words.append(f"heard:{event.input_transcription.text}")
    if event.output_transcription:
        words.append(f"spoke:{event.output_transcription.text}")
    if event.live_session_resumption_update:
        words.append(f"handle:{event.live_session_resumption_update.new_handle}")
    words += [name for name in ("interrupted", "turn_complete") if getattr(event, name)]
    if event.error_code:
        words.append(f"error:{event.error_code}")
    if event.usage_metadata:
        words.append("usage")
    return ("~" if event.partial else "") + " ".join(words)


def lines(events: list[Event]) -> list[str]:
    return [line(event) for event in events]
