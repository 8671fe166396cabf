"""A live run of one agent: user input to the model, model output to events, tools meanwhile.

Read top-down: `run_live`, then LiveRun. One task owns all others; the generator yields what they
put into its queue, so that closing it ends them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .... import _clock, types
from ...._aclosing import Aclosing
from ...._task_group import TaskGroup
from ....auth.redaction import public_message
from ....context.callbacks import check_answer
from ....context.context import Context
from ....context.invocation import InvocationContext, ensure_live_state
from ....context.live_request_queue import LiveRequestQueue
from ....errors import CallAlreadyAnsweredError, InputValidationError
from ....events.event import Event
from ....models.base_llm_connection import CANCELLED_CALLS
from ....models.llm_request import LlmRequest
from ....models.llm_response import LlmResponse
from ....sessions.log.call_requests import kind_of
from ....sessions.store.durable_store import CallChanges
from ....tools.base_tool import BaseTool
from .. import _output_schema_processor, auth_preprocessor, request_confirmation
from ..audio_cache_manager import AudioCacheManager
from ..model_call.model_hooks import (
    EventDraft,
    run_after_model_hooks,
    run_before_model_hooks,
    run_model_error_hooks,
)
from ..tool_calls.call_events import execute_calls
from ..tool_calls.call_journal import register_calls
from ..tool_calls.call_origins import record_origins
from .live_connection import LiveLink, LiveSender
from .live_tools import (
    STOP_STREAMING,
    TASK_COMPLETED,
    StopStreaming,
    StreamingTools,
    TaskCompleted,
)

_MAX_PENDING = (
    256  # responses that may wait for the reader of the events before reception waits, too
)
_CALL_CANCELLED = "The model cancelled the call before it finished; its outcome is unknown."


@dataclass(frozen=True, slots=True)
class LiveSteps:
    """The steps of the flow that a live run calls.

    Attributes:
      preprocess: fills in a request.
      finalize: creates the event of a response.
      find_agent: finds the agent to transfer to.
    """

    preprocess: Callable[[InvocationContext, LlmRequest], AsyncGenerator[Event, None]]
    finalize: Callable[[LlmRequest, LlmResponse, EventDraft], Event]
    find_agent: Callable[[InvocationContext, str], Any]


async def run_live(ctx: InvocationContext, steps: LiveSteps) -> AsyncGenerator[Event, None]:
    """Run an agent over a live connection, then the agent that it transfers to (Spec 1 §17).

    Args:
      ctx: the run; its `live_request_queue` holds the user's requests.
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
    if ctx.agent.name in ensure_live_state(ctx).task_agents:
        await TaskCompleted().process_llm_request(
            tool_context=Context(ctx), llm_request=llm_request
        )
    llm_request.model = ctx.agent.canonical_live_model.model
    draft = EventDraft(ctx)
    answer = await run_before_model_hooks(ctx, llm_request, draft)
    if answer is not None:
        yield steps.finalize(llm_request, answer, draft)
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
        answer = await run_model_error_hooks(ctx, llm_request, draft, error)
        if answer is None:
            raise
        yield steps.finalize(llm_request, answer, draft)
        return
    if run.transfer_to is not None:
        agent = steps.find_agent(ctx, run.transfer_to)
        ctx.forget_agent_states(agent)
        ctx.live_session_resumption_handle = None  # the other agent starts a new live session
        async with Aclosing(agent.run_live(ctx)) as events:
            async for event in events:
                yield event


class LiveRun:
    """The tasks of one agent's live run, and the queue of events that they fill.

    Args:
      ctx: the run.
      requests: the user's requests.
      llm_request: settings, tools and history.
      steps: the steps of the flow.

    Attributes:
      transfer_to: the agent to transfer to; None if the run ends without a transfer.
      refusal: a guardrail's or a store's exception about the user's input; no model hook sees it.
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
        self._live_state = ensure_live_state(ctx)
        self._requests = requests
        self._llm_request = llm_request
        self._steps = steps
        self._out: asyncio.Queue[_QueuedEvent | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_MAX_PENDING)
        self._sender = LiveSender()
        self._over = asyncio.Event()
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._cancelled_ids: set[str] = set()
        self._model = ctx.agent.canonical_live_model
        self._hooked = _has_after_model_hooks(ctx)
        run = ctx.run_config
        self._cache = AudioCacheManager() if run is not None and run.save_live_blob else None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield events until the run is over."""
        task = asyncio.create_task(self._run_tasks(), name="ostinato-live")
        try:
            while (item := await self._out.get()) is not None:
                if item.shown:
                    yield item.event
                else:
                    await self._commit_event(item)
                item.mark_committed(self._room)
            await task
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # otherwise asyncio reports it as never retrieved

    async def _run_tasks(self) -> None:
        """Run all tasks until one of them ends the run."""
        ctx = self._ctx
        try:
            async with TaskGroup() as group:
                self._group = group
                self._streams = self._live_state.streams = StreamingTools(
                    ctx, group, self._send_message
                )
                self._tools = self._prepare_tools(self._llm_request.tools_dict)
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
            self._live_state.streams = None
            self._out.put_nowait(None)

    def _prepare_tools(self, tools: Mapping[str, BaseTool]) -> dict[str, BaseTool]:
        if STOP_STREAMING in tools:
            return {**tools, STOP_STREAMING: StopStreaming(self._streams)}
        return dict(tools)

    # -- from the user to the model

    async def _send_requests(self) -> None:
        """Send the user's requests in order; a message once it is stored."""
        while True:
            request = await self._requests.get()
            self._streams.forward_request(request)
            if request.close:
                self._over.set()
                return
            if request.activity_start is not None:
                await self._sender.send_realtime(request.activity_start)
            elif request.activity_end is not None:
                await self._sender.send_realtime(request.activity_end)
            elif request.blob is not None:
                if self._cache is not None:
                    self._cache.cache_audio(self._ctx, request.blob, "input")
                await self._sender.send_realtime(request.blob)
            elif request.content is not None:
                await self._send_message(request.content, checked=True)

    async def _send_message(self, content: types.Content, *, checked: bool = False) -> None:
        """Store a message of the user or of a streaming tool, and send it to the model.

        Args:
          content: the message.
          checked: whether guardrails check it before it is sent.
        """
        if not content.role:
            content = content.model_copy(update={"role": "user"})
        if checked and _has_answers(content):
            await self._send_answers(content)
            return
        await self._emit(self._make_message_event(content), shown=False)
        for check in self._live_state.input_checks if checked else ():
            await self._run_check(check(content))
        await self._sender.send_content(content)

    async def _send_answers(self, content: types.Content) -> None:
        """Store a message with its claims of the calls that it answers, run the calls that it
        approves, and send the rest to the model.

        A refused answer ends the run, and its message is not stored.
        """
        await self._sender.wait_until_open()  # so that it claims nothing while the model is away
        ctx = self._ctx
        try:
            read = self._live_state.read_answers
            changes = None if read is None else await read(ctx, content)
        except Exception as error:  # boundary: the model's error hooks must not see it
            self.refusal = error
            raise
        await self._emit(
            self._make_message_event(public_message(content)), shown=False, changes=changes
        )
        for check in self._live_state.input_checks:
            await self._run_check(check(content))
        async with Aclosing(_run_answered_calls(ctx, content, self._llm_request)) as events:
            async for event in events:
                await self._emit(event)
                if event.get_function_responses() and not event.partial:
                    await self._send_response(event)
        rest = _remove_request_answers(content)
        if rest is not None:
            await self._sender.send_content(rest)

    def _make_message_event(self, content: types.Content) -> Event:
        """Return the event that stores a message of the user or of a streaming tool."""
        run = self._ctx.run_config
        return Event(
            invocation_id=self._ctx.invocation_id,
            author="user",
            branch=self._ctx.branch,
            content=content,
            custom_metadata=run.custom_metadata if run is not None else None,
        )

    async def _run_check(self, found: AsyncGenerator[Event, None]) -> None:
        """Emit the events of a guardrail check; its exception ends the run."""
        try:
            async with Aclosing(found) as events:
                async for event in events:
                    await self._emit(event)
        except Exception as error:  # boundary: the model's error hooks must not see it
            self.refusal = error
            raise

    # -- from the model to events

    async def _receive_all(self) -> None:
        """Turn the model's responses into events, reconnecting if necessary."""
        link = LiveLink(self._ctx, self._model, self._llm_request, self._sender)
        async with Aclosing(link.receive_responses()) as responses:
            async for response in responses:
                await self._handle_response(response)

    async def _handle_response(self, response: LlmResponse) -> None:
        """Turn a response into an event and emit it."""
        ctx = self._ctx
        check_answer(
            response, LlmResponse, f"live model {self._llm_request.model!r}", ctx.agent.name
        )
        metadata = response.custom_metadata
        if metadata is not None and CANCELLED_CALLS in metadata:
            self._cancel_calls(metadata[CANCELLED_CALLS])
            return
        if response.go_away is not None and response.content is None:
            return
        if self._cache is not None:
            await self._collect_audio(self._cache, response)
        spending = ctx.services.budget_usage
        if spending is not None and response.usage_metadata is not None:
            spending.count(response.usage_metadata, self._model.model)
            spending.begin_model_call(ctx.agent)
        event = (
            _make_partial_event(ctx, response) if response.partial and not self._hooked else None
        )
        if event is None:
            draft = EventDraft(ctx)
            response = await run_after_model_hooks(ctx, response, draft)
            event = self._steps.finalize(self._llm_request, response, draft)
        if event.input_transcription is not None or _is_from_user(event.content):
            event.author = "user"
        if event.partial or not event.get_function_calls():
            await self._room.acquire()
            self._out.put_nowait(_QueuedEvent(event, shown=True, takes_room=True))
        else:
            self._begin_calls(event)

    async def _collect_audio(self, cache: AudioCacheManager, response: LlmResponse) -> None:
        """Collect the model's audio; store it and the user's at the end of a turn."""
        for part in (response.content.parts if response.content is not None else None) or ():
            blob = part.inline_data
            if blob is not None and (blob.mime_type or "").startswith("audio/"):
                cache.cache_audio(self._ctx, blob, "output")
        if response.turn_complete or response.interrupted or cache.is_full:
            user_too = bool(response.turn_complete or cache.is_full)
            for event in await cache.flush_caches(self._ctx, flush_user_audio=user_too):
                await self._emit(event)

    # -- tools

    def _begin_calls(self, event: Event) -> None:
        """Emit an event with calls, and run each call as soon as the event is committed."""
        register_calls(self._ctx, event, self._tools)
        record_origins(event, self._tools)
        item = _QueuedEvent(event, shown=True)
        self._out.put_nowait(item)
        for call in event.get_function_calls():
            call_id = call.id or ""
            self._calls[call_id] = self._group.create_task(self._run_call(item, call_id))

    async def _run_call(self, item: _QueuedEvent, call_id: str) -> None:
        """Run one call, emit its response and send it to the model."""
        response: Event | None = None
        try:
            await item.committed.wait()
            async with Aclosing(
                execute_calls(self._ctx, item.event, self._tools, {call_id})
            ) as events:
                async for response in events:
                    if any(one.id == call_id for one in response.get_function_responses()):
                        response.live_session_id = item.event.live_session_id
                    await self._emit(response)
            if response is None or response.partial:
                response = None  # only an event of an agent that runs as a tool
            elif response.get_function_responses():
                await self._send_response(response)
        except asyncio.CancelledError:
            if call_id not in self._cancelled_ids:
                raise
            if response is None or response.partial:
                await self._emit(_cancelled_call_event(self._ctx, item.event, call_id))
        finally:
            self._calls.pop(call_id, None)

    async def _send_response(self, response: Event) -> None:
        """Send a call's response to the model, and apply its effects on the run."""
        structured = _output_schema_processor.get_structured_model_response(response)
        if structured is not None:
            await self._emit(
                _output_schema_processor.create_final_model_response_event(self._ctx, structured)
            )
        if response.content is not None:
            await self._sender.send_content(response.content)
        done = any(answer.name == TASK_COMPLETED for answer in response.get_function_responses())
        if response.actions.transfer_to_agent:
            self.transfer_to = response.actions.transfer_to_agent
            self._over.set()
        elif (done and self._ctx.agent.name in self._live_state.task_agents) or (
            self._ctx.end_invocation
        ):
            self._over.set()

    def _cancel_calls(self, call_ids: list[str]) -> None:
        """Cancel calls that the model has cancelled."""
        for call_id in call_ids:
            task = self._calls.get(call_id)
            if task is not None:
                self._cancelled_ids.add(call_id)
                task.cancel()

    async def _commit_event(self, item: _QueuedEvent) -> None:
        """Store an event that is not shown, with the calls that it claims to answer."""
        try:
            await self._ctx.services.commit((item.event,), (), item.changes)
        except CallAlreadyAnsweredError as error:
            self.refusal = error  # the model's error hooks must not see it
            raise

    async def _emit(
        self, event: Event, *, shown: bool = True, changes: CallChanges | None = None
    ) -> None:
        """Emit an event and wait until it is committed."""
        item = _QueuedEvent(event, shown=shown, changes=changes)
        self._out.put_nowait(item)
        await item.committed.wait()


class _QueuedEvent:
    """An event in the queue.

    Attributes:
      event: the event.
      shown: whether the caller gets it; otherwise it is only stored.
      committed: set once it is committed.
      changes: the calls that it answers, claimed when it is stored; None if it answers none.
    """

    __slots__ = ("_takes_room", "changes", "committed", "event", "shown")

    def __init__(
        self,
        event: Event,
        *,
        shown: bool,
        takes_room: bool = False,
        changes: CallChanges | None = None,
    ) -> None:
        self.event = event
        self.changes = changes
        self.shown = shown
        self.committed = asyncio.Event()
        self._takes_room = takes_room

    def mark_committed(self, room: asyncio.Semaphore) -> None:
        """Signal that the event is committed."""
        self.committed.set()
        if self._takes_room:
            room.release()


def _make_partial_event(ctx: InvocationContext, response: LlmResponse) -> Event:
    """Return the event of a partial response, without the steps that only full ones need."""
    fields = {
        name: value
        for name in response.model_fields_set
        if (value := getattr(response, name)) is not None
    }
    return Event(
        **fields, invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch
    )


def _has_answers(content: types.Content) -> bool:
    """Return whether a message answers calls."""
    return any(part.function_response is not None for part in content.parts or ())


async def _run_answered_calls(
    ctx: InvocationContext, content: types.Content, llm_request: LlmRequest
) -> AsyncGenerator[Event, None]:
    """Run the calls that a stored message approves, rejects or gives credentials for.

    Args:
      ctx: the live run.
      content: the message, with its secrets; the user's newest in the log.
      llm_request: the conversation's request.

    Yields:
      Response events.
    """
    answered = ctx.model_copy(update={"user_content": content})
    for processor in (
        request_confirmation.request_processor,
        auth_preprocessor.request_processor,
    ):
        async with Aclosing(processor.run_async(answered, llm_request)) as events:
            async for event in events:
                yield event


def _remove_request_answers(content: types.Content) -> types.Content | None:
    """Return a message without its answers to the runtime's own requests, or None if none is left.

    The model did not make these requests, so it must not get their answers.
    """
    left = [
        part
        for part in content.parts or ()
        if part.function_response is None or kind_of(part.function_response.name or "") == "result"
    ]
    return content.model_copy(update={"parts": left}) if left else None


def _is_from_user(content: types.Content | None) -> bool:
    return content is not None and content.role == "user"


def _has_after_model_hooks(ctx: InvocationContext) -> bool:
    hook = "after_model_callback"
    return bool(ctx.agent.canonical_after_model_callbacks) or ctx.plugin_manager.overrides(hook)


def _cancelled_call_event(ctx: InvocationContext, event: Event, call_id: str) -> Event:
    """Return the response to a call that the model cancelled; only the log gets it."""
    name = next(call.name for call in event.get_function_calls() if call.id == call_id)
    answer = types.FunctionResponse(id=call_id, name=name, response={"error": _CALL_CANCELLED})
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        timestamp=_clock.now(),
        live_session_id=event.live_session_id,
    )
