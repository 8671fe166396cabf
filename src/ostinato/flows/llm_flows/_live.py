"""A live run of one agent: what the user sends goes to the model, what the model sends becomes
events, and tools run meanwhile. `BaseLlmFlow.run_live` runs it.

Read top-down: `run_live`, then LiveRun. One task owns all others; the generator hands on what they
put into its queue, so that closing it ends them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ... import _clock, types
from ..._aclosing import Aclosing
from ..._task_group import TaskGroup
from ...context.callbacks import checked
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.live_request_queue import LiveRequestQueue
from ...errors import InputValidationError
from ...events.event import Event
from ...models.base_llm_connection import CANCELLED_CALLS
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...tools.base_tool import BaseTool
from . import _output_schema_processor
from ._act import act
from ._call_journal import note_calls
from ._live_line import Line, LiveLink
from ._live_tools import (
    STOP_STREAMING,
    TASK_COMPLETED,
    StopStreaming,
    StreamingTools,
    TaskCompleted,
)
from ._model_hooks import after_model, before_model, on_model_error
from ._skeleton import Skeleton
from .audio_cache_manager import AudioCacheManager

_WAITING = 256  # responses that may wait for whoever reads the events, before reception waits too
_TAKEN_BACK = "The model took the call back before it finished; its outcome is unknown."


@dataclass(frozen=True, slots=True)
class LiveSteps:
    """The steps of the loop that a live run shares with it; the flow's own methods.

    Attributes:
      preprocess: fills in a request.
      finalize: makes an event of a response.
      find_agent: finds the agent to transfer to.
    """

    preprocess: Callable[[InvocationContext, LlmRequest], AsyncGenerator[Event, None]]
    finalize: Callable[[LlmRequest, LlmResponse, Skeleton], Event]
    find_agent: Callable[[InvocationContext, str], Any]


async def run_live(ctx: InvocationContext, steps: LiveSteps) -> AsyncGenerator[Event, None]:
    """Run an agent over a live connection, and then whom it transfers to (Spec 1 §17).

    Args:
      ctx: the run; its `live_request_queue` holds what the user sends.
      steps: the steps of the flow.

    Yields:
      Events; those that are stored are committed before their calls run.
    """
    queue = ctx.live_request_queue
    if queue is None:
        raise InputValidationError("run_live needs a live_request_queue; start it with the Runner.")
    llm_request = LlmRequest()
    async with Aclosing(steps.preprocess(ctx, llm_request)) as events:
        async for event in events:
            yield event
    if ctx.end_invocation:
        return
    if ctx.agent.name in ctx.ports.with_end:
        await TaskCompleted().process_llm_request(
            tool_context=Context(ctx), llm_request=llm_request
        )
    llm_request.model = ctx.agent.canonical_live_model.model
    skeleton = Skeleton(ctx)
    answer = await before_model(ctx, llm_request, skeleton)
    if answer is not None:
        yield steps.finalize(llm_request, answer, skeleton)
        return
    ctx.increment_llm_call_count()
    run = LiveRun(ctx, queue, llm_request, steps)
    try:
        async with Aclosing(run.events()) as events:
            async for event in events:
                yield event
    except Exception as error:  # boundary: hooks may answer a model's error
        if error is run.refusal:
            raise
        answer = await on_model_error(ctx, llm_request, skeleton, error)
        if answer is None:
            raise
        yield steps.finalize(llm_request, answer, skeleton)
        return
    if run.transfer_to is not None:
        agent = steps.find_agent(ctx, run.transfer_to)
        ctx.forget_agent_states(agent)
        ctx.live_session_resumption_handle = None  # the other agent's conversation is a new one
        async with Aclosing(agent.run_live(ctx)) as events:
            async for event in events:
                yield event


class LiveRun:
    """The tasks of one agent's live run, and the queue of events that they fill.

    Args:
      ctx: the run.
      requests: what the user sends.
      llm_request: settings, tools and history.
      steps: the steps of the flow.

    Attributes:
      transfer_to: the agent that is to go on; None where the run just ended.
      refusal: what a guardrail raised about the user's words.
    """

    def __init__(
        self,
        ctx: InvocationContext,
        requests: LiveRequestQueue,
        llm_request: LlmRequest,
        steps: LiveSteps,
    ) -> None:
        self.transfer_to: str | None = None
        self.refusal: Exception | None = None
        self._ctx = ctx
        self._requests = requests
        self._llm_request = llm_request
        self._steps = steps
        self._out: asyncio.Queue[_Item | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_WAITING)
        self._line = Line()
        self._over = asyncio.Event()
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._taken_back: set[str] = set()
        self._model = ctx.agent.canonical_live_model
        self._hooked = _has_after_model(ctx)
        run = ctx.run_config
        self._cache = AudioCacheManager() if run is not None and run.save_live_blob else None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield events until the run is over."""
        task = asyncio.create_task(self._work(), name="ostinato-live")
        try:
            while (item := await self._out.get()) is not None:
                if item.shown:
                    yield item.event
                else:
                    await self._ctx.ports.commit((item.event,))
                item.done(self._room)
            await task
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # so that nobody reports it as unseen

    async def _work(self) -> None:
        """Run all tasks until one of them ends the run."""
        ctx = self._ctx
        try:
            async with TaskGroup() as group:
                self._group = group
                self._streams = ctx.ports.streams = StreamingTools(ctx, group, self._tell)
                self._tools = self._tools_of(self._llm_request.tools_dict)
                tasks = [
                    group.create_task(self._send_requests()),
                    group.create_task(self._receive_all()),
                ]
                await self._over.wait()
                if self.transfer_to is not None and self._calls:
                    await asyncio.wait([*self._calls.values()])
                for task in (*tasks, *self._calls.values()):
                    task.cancel()
                self._streams.cancel()
        finally:
            ctx.ports.streams = None
            self._out.put_nowait(None)

    def _tools_of(self, tools: Mapping[str, BaseTool]) -> dict[str, BaseTool]:
        if STOP_STREAMING in tools:
            return {**tools, STOP_STREAMING: StopStreaming(self._streams)}
        return dict(tools)

    # -- from the user to the model

    async def _send_requests(self) -> None:
        """Send what the user sends, in its order; a message once it is stored."""
        while True:
            request = await self._requests.get()
            self._streams.pass_on(request)
            if request.close:
                self._over.set()
                return
            if request.activity_start is not None:
                await self._line.send_realtime(request.activity_start)
            elif request.activity_end is not None:
                await self._line.send_realtime(request.activity_end)
            elif request.blob is not None:
                if self._cache is not None:
                    self._cache.cache_audio(self._ctx, request.blob, "input")
                await self._line.send_realtime(request.blob)
            elif request.content is not None:
                await self._tell(request.content, checked=True)

    async def _tell(self, content: types.Content, *, checked: bool = False) -> None:
        """Store what the user, or a streaming tool, tells the model, and send it.

        Args:
          content: what is told.
          checked: let guardrails see it between the two.
        """
        if not content.role:
            content = content.model_copy(update={"role": "user"})
        run = self._ctx.run_config
        event = Event(
            invocation_id=self._ctx.invocation_id,
            author="user",
            branch=self._ctx.branch,
            content=content,
            custom_metadata=run.custom_metadata if run is not None else None,
        )
        await self._put(event, shown=False)
        for check in self._ctx.ports.live_input if checked else ():
            await self._check(check(content))
        await self._line.send_content(content)

    async def _check(self, found: AsyncGenerator[Event, None]) -> None:
        """Hand on what a check of the user's words found; what it raises ends the run."""
        try:
            async with Aclosing(found) as events:
                async for event in events:
                    await self._put(event)
        except Exception as error:  # boundary: it is no error of the model's, whose hooks look on
            self.refusal = error
            raise

    # -- from the model to events

    async def _receive_all(self) -> None:
        """Make events of what the model sends, over as many connections as that takes."""
        link = LiveLink(self._ctx, self._model, self._llm_request, self._line)
        async with Aclosing(link.responses()) as responses:
            async for response in responses:
                await self._take(response)

    async def _take(self, response: LlmResponse) -> None:
        """Make an event of a response and hand it on."""
        ctx = self._ctx
        checked(response, LlmResponse, f"live model {self._llm_request.model!r}", ctx.agent.name)
        metadata = response.custom_metadata
        if metadata is not None and CANCELLED_CALLS in metadata:
            self._take_back(metadata[CANCELLED_CALLS])
            return
        if response.go_away is not None and response.content is None:
            return
        if self._cache is not None:
            await self._keep_sound(self._cache, response)
        spending = ctx.ports.spending
        if spending is not None and response.usage_metadata is not None:
            spending.count(response.usage_metadata, self._model.model)
            spending.begin_model_call(ctx.agent)
        event = _light_event(ctx, response) if response.partial and not self._hooked else None
        if event is None:
            skeleton = Skeleton(ctx)
            response = await after_model(ctx, response, skeleton)
            event = self._steps.finalize(self._llm_request, response, skeleton)
        if event.input_transcription is not None or _is_users(event.content):
            event.author = "user"
        if event.partial or not event.get_function_calls():
            await self._room.acquire()
            self._out.put_nowait(_Item(event, shown=True, takes_room=True))
        else:
            self._begin_calls(event)

    async def _keep_sound(self, cache: AudioCacheManager, response: LlmResponse) -> None:
        """Collect the model's sound; store it, and the user's, where a turn ends."""
        for part in (response.content.parts if response.content is not None else None) or ():
            blob = part.inline_data
            if blob is not None and (blob.mime_type or "").startswith("audio/"):
                cache.cache_audio(self._ctx, blob, "output")
        if response.turn_complete or response.interrupted or cache.is_full:
            user_too = bool(response.turn_complete or cache.is_full)
            for event in await cache.flush_caches(self._ctx, flush_user_audio=user_too):
                await self._put(event)

    # -- tools

    def _begin_calls(self, event: Event) -> None:
        """Hand on an event with calls, and run each call as soon as the event is committed."""
        note_calls(self._ctx, event, self._tools)
        item = _Item(event, shown=True)
        self._out.put_nowait(item)
        for call in event.get_function_calls():
            call_id = call.id or ""
            self._calls[call_id] = self._group.create_task(self._call(item, call_id))

    async def _call(self, item: _Item, call_id: str) -> None:
        """Run one call, hand its response on and answer the model."""
        response: Event | None = None
        try:
            await item.taken.wait()
            async with Aclosing(act(self._ctx, item.event, self._tools, {call_id})) as events:
                async for response in events:
                    await self._put(response)
            if response is None or response.partial:
                response = None  # an agent that runs as a tool showed something, and no more
            elif response.get_function_responses():
                await self._answer(response)
        except asyncio.CancelledError:
            if call_id not in self._taken_back:
                raise
            if response is None or response.partial:
                await self._put(_taken_back_event(self._ctx, item.event, call_id))
        finally:
            self._calls.pop(call_id, None)

    async def _answer(self, response: Event) -> None:
        """Send a call's response to the model, and do what it says about the run."""
        structured = _output_schema_processor.get_structured_model_response(response)
        if structured is not None:
            await self._put(
                _output_schema_processor.create_final_model_response_event(self._ctx, structured)
            )
        if response.content is not None:
            await self._line.send_content(response.content)
        done = any(answer.name == TASK_COMPLETED for answer in response.get_function_responses())
        if response.actions.transfer_to_agent:
            self.transfer_to = response.actions.transfer_to_agent
            self._over.set()
        elif (done and self._ctx.agent.name in self._ctx.ports.with_end) or (
            self._ctx.end_invocation
        ):
            self._over.set()

    def _take_back(self, call_ids: list[str]) -> None:
        """Cancel calls that the model no longer wants."""
        for call_id in call_ids:
            task = self._calls.get(call_id)
            if task is not None:
                self._taken_back.add(call_id)
                task.cancel()

    async def _put(self, event: Event, *, shown: bool = True) -> None:
        """Hand an event on, and wait until it is committed."""
        item = _Item(event, shown=shown)
        self._out.put_nowait(item)
        await item.taken.wait()


class _Item:
    """An event on its way out.

    Attributes:
      event: the event.
      shown: whether the caller gets it; otherwise it is stored only.
      taken: set once it is committed.
    """

    __slots__ = ("_takes_room", "event", "shown", "taken")

    def __init__(self, event: Event, *, shown: bool, takes_room: bool = False) -> None:
        self.event = event
        self.shown = shown
        self.taken = asyncio.Event()
        self._takes_room = takes_room

    def done(self, room: asyncio.Semaphore) -> None:
        """Say that it is committed."""
        self.taken.set()
        if self._takes_room:
            room.release()


def _light_event(ctx: InvocationContext, response: LlmResponse) -> Event:
    """Return the event of a streamed piece, with no step that it does not need."""
    fields = {
        name: value
        for name in response.model_fields_set
        if (value := getattr(response, name)) is not None
    }
    return Event(
        **fields, invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch
    )


def _is_users(content: types.Content | None) -> bool:
    return content is not None and content.role == "user"


def _has_after_model(ctx: InvocationContext) -> bool:
    hook = "after_model_callback"
    return bool(ctx.agent.canonical_after_model_callbacks) or ctx.plugin_manager.overrides(hook)


def _taken_back_event(ctx: InvocationContext, event: Event, call_id: str) -> Event:
    """Return the response to a call that the model took back; only the log gets it."""
    name = next(call.name for call in event.get_function_calls() if call.id == call_id)
    answer = types.FunctionResponse(id=call_id, name=name, response={"error": _TAKEN_BACK})
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        timestamp=_clock.now(),
    )
