"""An agent's run under guardrails, which check all input and output of any kind of agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

from .. import types
from .._aclosing import Aclosing
from ..context.guardrail import GUARDRAIL, TRIPPED, Guardrail, GuardrailResult, Guards, Stage
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ..errors import GuardrailTrippedError
from ..events.event import Event

_FINAL_CALL = "set_model_response"  # the call that holds structured output before its final event
_WITHHELD = {"error": "The result was withheld by a guardrail."}

Found = tuple[str, Guardrail, GuardrailResult]


class GuardrailStop(BaseException):
    """Ends a run after a guardrail tripped and its event was committed; the runner catches it.

    It is not an Exception, so that an agent's own error handling does not continue the run.
    """


async def run_guarded(
    ctx: InvocationContext, guards: Guards, run: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Run an agent under guardrails.

    Output guardrails drop partial events, because they cannot check them.

    Args:
      ctx: the agent's context.
      guards: its guardrails.
      run: its run, not started yet.

    Raises:
      GuardrailStop: a guardrail tripped, and its event was committed.
      GuardrailTrippedError: the same, for `on_trip="raise"`.
      Exception: a guardrail's exception; the content that it should have checked is dropped.
    """
    input_content = ctx.user_content or types.Content(role="user", parts=[])
    view: ReadonlyContext = ReadonlyContext(ctx)
    async with Aclosing(run) as events:
        for owner, one in guards.input:
            if one.blocking:
                result = await one.run(view, input_content)
                async for event in report_results(ctx, "input", [(owner, one, result)]):
                    yield event
        first: Event | None = None
        concurrent = [(owner, one) for owner, one in guards.input if not one.blocking]
        if concurrent:
            first, found = await _first_event(events, concurrent, view, input_content)
            async for event in report_results(ctx, "input", found):
                yield event
            if first is None:
                return
        while True:
            event = first or await anext(events, None)
            first = None
            if event is None:
                return
            if guards.output and event.partial:
                continue
            async for notice in check_output(ctx, guards.output, event, view):
                yield notice
            yield event


async def check_output(
    ctx: InvocationContext,
    guards: Sequence[tuple[str, Guardrail]],
    event: Event,
    view: ReadonlyContext,
) -> AsyncGenerator[Event, None]:
    """Check an event before it is yielded; yield the events of the guardrails."""
    content = _find_output(event) if guards else None
    if content is None:
        return
    for owner, one in guards:
        result = await one.run(view, content)
        if result.tripwire and event.get_function_responses():
            yield _withhold_result(event)  # every call needs an answer
        async for notice in report_results(ctx, "output", [(owner, one, result)]):
            yield notice


async def _first_event(
    events: AsyncGenerator[Event, None],
    guards: Sequence[tuple[str, Guardrail]],
    view: ReadonlyContext,
    input_content: types.Content,
) -> tuple[Event | None, list[Found]]:
    """Run guardrails concurrently with an agent until its first event, which waits for them.

    The agent runs in its caller's task. If a guardrail trips or raises, the agent's model call is
    cancelled.
    """
    task = asyncio.current_task()
    assert task is not None
    earlier_cancels, is_waiting, is_cancelled = task.cancelling(), True, False

    def cancel_model_call(done: asyncio.Task[list[Found]]) -> None:
        nonlocal is_cancelled
        bad = not done.cancelled() and (done.exception() is not None or _is_tripped(done.result()))
        if bad and is_waiting:
            is_cancelled = True
            task.cancel()

    check = asyncio.create_task(_check_all(guards, view, input_content))
    check.add_done_callback(cancel_model_call)
    event: Event | None = None
    try:
        try:
            event = await anext(events, None)
        except asyncio.CancelledError:
            if not is_cancelled or task.uncancel() > earlier_cancels:
                raise
        finally:
            is_waiting = False
        return event, await check
    finally:
        check.cancel()
        await asyncio.wait([check])


async def _check_all(
    guards: Sequence[tuple[str, Guardrail]], view: ReadonlyContext, input_content: types.Content
) -> list[Found]:
    results = await asyncio.gather(*(one.run(view, input_content) for _, one in guards))
    return [(owner, one, result) for (owner, one), result in zip(guards, results, strict=True)]


def _is_tripped(found: Sequence[Found]) -> bool:
    return any(result.tripwire for _, _, result in found)


async def report_results(
    ctx: InvocationContext, stage: Stage, found: Sequence[Found]
) -> AsyncGenerator[Event, None]:
    """Yield the guardrails' results as events, and end the run if one tripped."""
    for owner, one, result in found:
        if not result.tripwire and result.info is None:
            continue
        if result.tripwire or not _is_on_record(ctx, stage, owner, one, result):
            yield _make_result_event(ctx, stage, owner, one, result)
        if not result.tripwire:
            continue
        if one.on_trip == "raise":
            raise GuardrailTrippedError(
                _describe_trip(ctx, stage, one),
                guardrail=one.name,
                agent=ctx.agent.name,
                stage=stage,
            )
        raise GuardrailStop(_describe_trip(ctx, stage, one))


def _make_result_event(
    ctx: InvocationContext, stage: Stage, owner: str, one: Guardrail, result: GuardrailResult
) -> Event:
    fields: dict[str, Any] = {"info": result.info, "tripwire": result.tripwire}
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        custom_metadata={GUARDRAIL: {"name": one.name, "of": owner, "stage": stage, **fields}},
    )
    if result.tripwire:
        event.content = result.message
        event.error_code, event.error_message = TRIPPED, _describe_trip(ctx, stage, one)
    return event


def _describe_trip(ctx: InvocationContext, stage: Stage, one: Guardrail) -> str:
    return f"Guardrail {one.name!r} stopped the {stage} of agent {ctx.agent.name!r}."


def _is_on_record(
    ctx: InvocationContext, stage: Stage, owner: str, one: Guardrail, result: GuardrailResult
) -> bool:
    """Return whether a resumed run has already stored a guardrail's result: any result on its
    input, an equal one on the output that it could not store.
    """
    if not ctx.run_state.is_resumed:
        return False
    wanted = (one.name, owner, stage)
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == "user" and not record.path:
            return False  # earlier results belong to earlier messages
        if record.has_metadata(GUARDRAIL):
            fields: Any = (record.event().custom_metadata or {}).get(GUARDRAIL) or {}
            if (fields.get("name"), fields.get("of"), fields.get("stage")) == wanted:
                return stage == "input" or fields.get("info") == result.info
        elif stage == "output" and _find_output(record.event()) is not None:
            return False
    return False


def is_guardrail_stop(error: BaseException) -> bool:
    """Return whether an error is a GuardrailStop, or a group that holds nothing else."""
    if isinstance(error, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], error)
        return all(is_guardrail_stop(one) for one in group.exceptions)
    return isinstance(error, GuardrailStop)


def has_tripped(ctx: InvocationContext) -> bool:
    """Return whether a guardrail had ended the run before it was resumed."""
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == "user":
            return False
        if f'"{TRIPPED}"' in record.data and record.event().error_code == TRIPPED:
            return True
    return False


def _find_output(event: Event) -> types.Content | None:
    """Return the content of an event that guardrails check, or None if it has none."""
    if event.author == "user" or (event.custom_metadata and GUARDRAIL in event.custom_metadata):
        return None
    parts = (event.content.parts if event.content is not None else None) or ()
    for part in parts:
        if part.text and not part.thought:
            return event.content
        if part.inline_data or part.file_data or part.code_execution_result:
            return event.content
    answers = [
        types.Part(text=json.dumps(call.args or {}, ensure_ascii=False))
        for call in event.get_function_calls()
        if call.name == _FINAL_CALL
    ]
    if event.actions.skip_summarization:  # the result is the final answer
        answers += [
            types.Part(text=json.dumps(one.response, ensure_ascii=False, default=str))
            for one in event.get_function_responses()
        ]
    return types.Content(role="model", parts=answers) if answers else None


def _withhold_result(event: Event) -> Event:
    """Return a response event whose results are replaced, because a guardrail stopped them."""
    parts = [
        types.Part(
            function_response=types.FunctionResponse(id=one.id, name=one.name, response=_WITHHELD)
        )
        for one in event.get_function_responses()
    ]
    return event.model_copy(update={"content": types.Content(role="user", parts=parts)})
