"""Live runs: their settings, what of them is not stored, and the end of an abandoned one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .. import _clock, context, types
from .._aclosing import Aclosing
from ..agents.base_agent import BaseAgent
from ..agents.guarded_run import run_guarded
from ..context.guardrail import Guards
from ..context.invocation import InvocationContext
from ..errors import InvalidAnswerError, RunCancelledError
from ..events.event import Event
from ..flows.llm_flows.resume.decided_calls import run_decided_calls
from ..sessions.log.call_requests import find_asking_call, find_request
from ..sessions.log.event_log import EventLog, EventRecord
from ..sessions.store.durable_store import CallChanges, Lease
from ..workflow.requests import check_answers
from .recovery.closing import seal
from .routing.answers import check_tools, read_answers

LIVE_DIGEST = "live"
"""Replaces the agent tree's digest in a lease. A live run cannot be resumed, because its audio is
lost with its process: the calls that the user's last answer allowed are run, the others are closed,
and the next run starts from the log."""

PROCESS_GONE = RunCancelledError(
    "The process of the live run ended before this call did; its outcome is unknown."
)


def live_config(config: context.RunConfig | None) -> context.RunConfig:
    """Return the settings for a live run: bidirectional, by default with audio."""
    config = config or context.RunConfig()
    changes: dict[str, object] = {"streaming_mode": context.StreamingMode.BIDI}
    if config.response_modalities is None:
        changes["response_modalities"] = ["AUDIO"]
    return config.model_copy(update=changes)


async def read_live_answers(
    ctx: InvocationContext, message: types.Content, root_agent: BaseAgent
) -> CallChanges | None:
    """Return the claims of the answers in a message of a live run.

    Args:
      ctx: the run of the active agent.
      message: the user's message.
      root_agent: the agents.

    Raises:
      CallNotOpenError: a call does not wait for an answer.
      CallAlreadyAnsweredError: another message has answered a call.
      InvalidAnswerError: an answer does not fit its call, or its call is of an agent that is not
        active, so that nothing would run it.
    """
    # A unique name per message: a later one of the run must not count as a duplicate.
    answers = read_answers(ctx.log, message, f"live-{_clock.new_id()}")
    if not answers:
        return None
    check_answers(ctx.log, message)
    for answer in answers:
        request = answer.request
        record = None if request is None else ctx.log.find_call(request.call_id)
        if request is None or record is None or request.kind == "result":
            continue
        if (record.author, record.branch) != (ctx.agent.name, ctx.branch):
            raise InvalidAnswerError(
                f"Call {request.call_id!r} is a request of agent {record.author!r}, but agent "
                f"{ctx.agent.name!r} speaks in this live run. The call stays open: answer it with "
                "run_async or /run after the live run."
            )
    await check_tools(ctx, root_agent, answers, message)
    return CallChanges(answers=answers)


def find_unfinished_answer(
    log: EventLog, invocation_id: str
) -> tuple[types.Content, EventRecord] | None:
    """Return the message of a live run whose answer has had no effect yet, with the record of the
    request; None if every answer had its effect.

    Only the newest message with answers counts: the run acts on one before it reads the next.

    Args:
      log: the records of the session.
      invocation_id: the live run.
    """
    answered: set[str | None] = set()
    for record in log.invocation(invocation_id):
        if record.author != "user":
            answered.update(call for call, _ in record.responses)
            continue
        for call_id, _ in record.responses:
            call = find_asking_call(log, call_id or "")
            found = find_request(log, call_id or "") if call and call not in answered else None
            if found is not None:
                return record.event().content or types.Content(), found[1]
        if record.responses:
            return None
    return None


async def run_allowed_calls(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run what the user's last answer in a live run allowed, then answer the calls left open.

    Args:
      ctx: the invocation of the live run, with the agent that asked and the user's answer.

    Yields:
      Response events.
    """
    guards = Guards.of(ctx.agent.name, ctx.agent)
    if ctx.run_state.guards:
        guards = ctx.run_state.guards + guards
    async with Aclosing(run_guarded(ctx, guards, run_decided_calls(ctx))) as events:
        async for event in events:
            yield event
    await seal(ctx, PROCESS_GONE)


def has_inline_media(event: Event) -> bool:
    """Return whether an event holds inline audio or video, which a live run does not store."""
    return any(
        part.inline_data is not None
        and (part.inline_data.mime_type or "").startswith(("audio/", "video/"))
        for part in (event.content.parts if event.content is not None else None) or ()
    )


def was_live(lease: Lease) -> bool:
    """Return whether a lease belongs to a live run."""
    return lease.digest == LIVE_DIGEST
