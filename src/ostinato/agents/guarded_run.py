"""An agent's run under guardrails: nothing goes in or comes out unchecked, whatever kind of agent
it is. `BaseAgent.run_async` is the one place that all of them pass; it comes here if there are any.
"""

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

_FINAL_CALL = "set_model_response"  # the call that holds structured output before it is said
_WITHHELD = {"error": "The result was withheld by a guardrail."}

Found = tuple[str, Guardrail, GuardrailResult]


class GuardrailStop(BaseException):
    """Ends a run whose log says already that a guardrail has tripped; the runner catches it.

    No Exception, so that no agent's own error handling goes on with the run.
    """


async def guarded(
    ctx: InvocationContext, guards: Guards, run: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Run an agent under guardrails.

    Partial events are held back where there are output guardrails: they have not been checked.

    Args:
      ctx: the agent's context.
      guards: its guardrails.
      run: its run, not begun yet.

    Raises:
      GuardrailStop: one has tripped, and its event was committed.
      GuardrailTrippedError: the same, for `on_trip="raise"`.
      Exception: what a guardrail raised; what it was to check is let through nowhere.
    """
    said = ctx.user_content or types.Content(role="user", parts=[])
    view: ReadonlyContext = ReadonlyContext(ctx)
    async with Aclosing(run) as events:
        for owner, one in guards.input:
            if one.blocking:
                result = await one.run(view, said)
                async for event in tell(ctx, "input", [(owner, one, result)]):
                    yield event
        first: Event | None = None
        beside = [(owner, one) for owner, one in guards.input if not one.blocking]
        if beside:
            first, found = await _first_event(events, beside, view, said)
            async for event in tell(ctx, "input", found):
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
            async for told in check_output(ctx, guards.output, event, view):
                yield told
            yield event


async def check_output(
    ctx: InvocationContext,
    guards: Sequence[tuple[str, Guardrail]],
    event: Event,
    view: ReadonlyContext,
) -> AsyncGenerator[Event, None]:
    """Yield what the guardrails say of an event that has not been let through yet."""
    content = _output_of(event) if guards else None
    if content is None:
        return
    for owner, one in guards:
        result = await one.run(view, content)
        if result.tripwire and event.get_function_responses():
            yield _without_result(event)  # its calls are answered all the same
        async for told in tell(ctx, "output", [(owner, one, result)]):
            yield told


async def _first_event(
    events: AsyncGenerator[Event, None],
    guards: Sequence[tuple[str, Guardrail]],
    view: ReadonlyContext,
    said: types.Content,
) -> tuple[Event | None, list[Found]]:
    """Run guardrails beside an agent until its first event, which waits for all of them.

    The agent runs on in the task of its caller. Where a guardrail trips or raises, its model call
    is cancelled.
    """
    task = asyncio.current_task()
    assert task is not None
    before, waiting, cut = task.cancelling(), True, False

    def cut_in(done: asyncio.Task[list[Found]]) -> None:
        nonlocal cut
        bad = not done.cancelled() and (done.exception() is not None or _tripped(done.result()))
        if bad and waiting:
            cut = True
            task.cancel()

    check = asyncio.create_task(_check_all(guards, view, said))
    check.add_done_callback(cut_in)
    event: Event | None = None
    try:
        try:
            event = await anext(events, None)
        except asyncio.CancelledError:
            if not cut or task.uncancel() > before:
                raise
        finally:
            waiting = False
        return event, await check
    finally:
        check.cancel()
        await asyncio.wait([check])


async def _check_all(
    guards: Sequence[tuple[str, Guardrail]], view: ReadonlyContext, said: types.Content
) -> list[Found]:
    results = await asyncio.gather(*(one.run(view, said) for _, one in guards))
    return [(owner, one, result) for (owner, one), result in zip(guards, results, strict=True)]


def _tripped(found: Sequence[Found]) -> bool:
    return any(result.tripwire for _, _, result in found)


async def tell(
    ctx: InvocationContext, stage: Stage, found: Sequence[Found]
) -> AsyncGenerator[Event, None]:
    """Yield what was found as events, then end the run where something tripped."""
    for owner, one, result in found:
        if not result.tripwire and result.info is None:
            continue
        if result.tripwire or not _is_on_record(ctx, stage, owner, one, result):
            yield _event(ctx, stage, owner, one, result)
        if not result.tripwire:
            continue
        if one.on_trip == "raise":
            raise GuardrailTrippedError(
                _message(ctx, stage, one), guardrail=one.name, agent=ctx.agent.name, stage=stage
            )
        raise GuardrailStop(_message(ctx, stage, one))


def _event(
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
        event.error_code, event.error_message = TRIPPED, _message(ctx, stage, one)
    return event


def _message(ctx: InvocationContext, stage: Stage, one: Guardrail) -> str:
    return f"Guardrail {one.name!r} stopped the {stage} of agent {ctx.agent.name!r}."


def _is_on_record(
    ctx: InvocationContext, stage: Stage, owner: str, one: Guardrail, result: GuardrailResult
) -> bool:
    """Tell whether a run that is gone on with had stored what a guardrail found on its input, or
    the same on an answer that it could not store any more.
    """
    if not ctx.ports.resumed:
        return False
    wanted = (one.name, owner, stage)
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == "user" and not record.path:
            return False  # found on something that was said before this
        if f'"{GUARDRAIL}"' in record.data:
            fields: Any = (record.event().custom_metadata or {}).get(GUARDRAIL) or {}
            if (fields.get("name"), fields.get("of"), fields.get("stage")) == wanted:
                return stage == "input" or fields.get("info") == result.info
        elif stage == "output" and _output_of(record.event()) is not None:
            return False
    return False


def is_guardrail_stop(error: BaseException) -> bool:
    """Tell whether an error is a GuardrailStop, or a task group's with nothing else in it."""
    if isinstance(error, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], error)
        return all(is_guardrail_stop(one) for one in group.exceptions)
    return isinstance(error, GuardrailStop)


def has_tripped(ctx: InvocationContext) -> bool:
    """Tell whether a guardrail had ended a run before it was gone on with."""
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == "user":
            return False
        if f'"{TRIPPED}"' in record.data and record.event().error_code == TRIPPED:
            return True
    return False


def _output_of(event: Event) -> types.Content | None:
    """Return what an event says to people, for a check; None where it says nothing."""
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
    if event.actions.skip_summarization:  # the result stands as the answer
        answers += [
            types.Part(text=json.dumps(one.response, ensure_ascii=False, default=str))
            for one in event.get_function_responses()
        ]
    return types.Content(role="model", parts=answers) if answers else None


def _without_result(event: Event) -> Event:
    """Return a response event that answers its calls without what a guardrail stopped."""
    parts = [
        types.Part(
            function_response=types.FunctionResponse(id=one.id, name=one.name, response=_WITHHELD)
        )
        for one in event.get_function_responses()
    ]
    return event.model_copy(update={"content": types.Content(role="user", parts=parts)})
