"""Runs of the agents that a message is for, each under the guardrails above it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent
from ..apps.app import App
from ..context.delegation import in_scope
from ..context.guardrail import Guards
from ..context.invocation import InvocationContext
from ..errors import StaleSessionError, StoreError
from ..events.event import Event, place_in_tree
from ..flows.llm_flows.resume.decided_calls import close_decided_calls, run_decided_calls
from ..flows.llm_flows.resume.user_answers import has_call_answers
from ..sessions.log.call_requests import find_asking_call, kind_of, unfinished_decisions
from ..sessions.log.event_log import EventRecord
from ..sessions.log.resume import OpenCall
from .recovery.closing import close_call_of_ended_task
from .routing.agent_choice import agents_below, prepare_answer
from .routing.task_choice import Run, after_tasks, find_graph

logger = get_logger(__name__)

_ANSWERED_EARLY = "A before-run callback answered instead of the agents; the call did not run."


def act_on_answers(run: Run, app: App, root_agent: BaseAgent) -> Run:
    """Return a run that continues with the agents of the message's other answers, in their order,
    and then with the decided calls of agents that no run resumes, because they have ended.

    An error that ends one of them is raised after the last, so that every decision is acted on.

    Args:
      run: runs the agent of the first answer.
      app: the app, for its guardrails.
      root_agent: the root.
    """

    async def run_all(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        errors: list[Exception] = []
        if not ctx.end_of_agents.get(ctx.agent.name):
            async for event in _keep_error(run(ctx), ctx.agent.name, errors):
                yield event
        for asked in ctx.run_state.other_answers:
            other = ctx.model_copy(update={"run_path": "", "end_invocation": False})
            prepare_answer(other, root_agent, asked)
            if _has_acted(other):
                continue
            ctx.run_state.guards = guards_above(app, other.agent)
            events = after_tasks(other.agent.run_async)(other)
            async for event in _keep_error(events, other.agent.name, errors):
                yield event
        async for event in _run_left_calls(ctx, root_agent, errors):
            yield event
        if errors:
            raise errors[0]

    return run_all


def _find_left_calls(ctx: InvocationContext) -> list[OpenCall]:
    """Return the tools' calls that the user's message decides and that have no result."""
    parts = (ctx.user_content and ctx.user_content.parts) or ()
    given = [part.function_response for part in parts]
    answered = {find_asking_call(ctx.log, one.id or "") for one in given if one is not None}
    if not answered - {None}:
        return []
    return [
        one
        for one in unfinished_decisions(ctx.log)
        if one.call_id in answered and kind_of(one.name) == "result"
        if one.call_id not in ctx.run_state.silent_call_ids
    ]


def _find_ended_agent(
    ctx: InvocationContext, root_agent: BaseAgent, record: EventRecord
) -> BaseAgent | None:
    """Return the agent of a left call. An agent of a graph counts if its task is finished or the
    call that ran it is answered; the graph resumes the others."""
    graph = find_graph(root_agent, record)
    if graph is None:
        return root_agent.find_agent(record.author)
    log, scope = ctx.log, record.scope or ""
    is_answered = log.is_over(scope) and log.find_call(scope) is not None
    if log.scopes.get(scope) is None and not is_answered:
        return None
    return next((one for one in agents_below(graph) if one.name == record.author), None)


def _may_run_apart(ctx: InvocationContext, call: OpenCall) -> bool:
    """Return whether a left call is not one of an agent that an error has ended in this run: that
    agent's next run acts on it."""
    scope, resume = call.record.scope, ctx.run_state.resume
    if call.call_id in ctx.run_state.started_call_ids:
        return False
    if scope is not None:
        return scope not in ctx.log.unanswered
    return resume is not None and resume.look(call.record.author, call.record.branch).kind in (
        "ended",
        "transfer",
    )


async def _run_left_calls(
    ctx: InvocationContext, root_agent: BaseAgent, errors: list[Exception]
) -> AsyncGenerator[Event, None]:
    """Run the decided calls whose agents have ended; the results are those agents' own.

    Args:
      ctx: the run.
      root_agent: the root.
      errors: what other agents of the message have raised; an error of a call is added.
    """
    done: set[tuple[str, str | None]] = set()
    left = _find_left_calls(ctx)
    if errors:
        left = [call for call in left if _may_run_apart(ctx, call)]
    for call in left:
        record = call.record
        agent = _find_ended_agent(ctx, root_agent, record)
        if (record.author, record.branch) in done or not isinstance(agent, LlmAgent):
            continue
        done.add((record.author, record.branch))
        place = {"branch": record.branch, "isolation_scope": record.scope}
        inner = ctx.model_copy(update={"agent": agent, "end_invocation": False, **place})
        inner.canonical_tools_cache = None
        events = in_scope(run_decided_calls(inner), record.scope)
        async for event in _keep_error(events, record.author, errors):
            if record.path:
                place_in_tree(event, record.place().path)
            yield event
        closed = close_call_of_ended_task(ctx.log, record.scope)
        if closed is not None:
            yield closed


def have_agents_ended(ctx: InvocationContext) -> bool:
    """Return whether nothing is left to run of a resumed invocation."""
    if not ctx.end_of_agents.get(ctx.agent.name) or ctx.run_state.other_answers:
        return False
    return not (has_call_answers(ctx) and _find_left_calls(ctx))


async def answer_early(
    ctx: InvocationContext, answer: types.Content
) -> AsyncGenerator[Event, None]:
    """Yield a hook's answer to a run; the calls that the user has decided will not run."""
    for closed in close_decided_calls(ctx, _ANSWERED_EARLY):
        yield closed
    yield Event(invocation_id=ctx.invocation_id, author="model", content=answer)


async def _keep_error(
    events: AsyncGenerator[Event, None], name: str, errors: list[Exception]
) -> AsyncGenerator[Event, None]:
    """Yield the events of an agent; add the error that ends it to `errors`.

    Raises:
      StaleSessionError, StoreError: no agent can store events any more.
    """
    try:
        async with Aclosing(events) as own:
            async for event in own:
                yield event
    except (StaleSessionError, StoreError):
        raise
    except Exception as error:  # boundary: raised once the other agents have acted
        # No warning: the caller gets the error, with those of later agents as notes.
        logger.info("Agent %r failed; the agents of the other answers run first: %s", name, error)
        errors.append(error)
        if error is not errors[0]:
            errors[0].add_note(f"Agent {name!r} failed, too: {type(error).__name__}: {error}")


def _has_acted(ctx: InvocationContext) -> bool:
    """Return whether an agent has acted on its answers and ended: before a crash, or because an
    earlier agent of the message transferred to it.
    """
    resume = ctx.run_state.resume
    if resume is None or isinstance(ctx.agent, NodeAgent):
        return False
    return resume.look(ctx.agent.name, ctx.branch).kind == "ended"


def guards_above(app: App, agent: BaseAgent) -> Guards | None:
    """Return the guardrails of the app and of an agent's ancestors, outermost first, or None."""
    found: Guards | None = None
    above = agent.parent_agent
    while above is not None:
        if above.input_guardrails or above.output_guardrails:
            own = Guards.of(above.name, above)
            found = own if found is None else own + found
        above = above.parent_agent
    if app.input_guardrails or app.output_guardrails:
        own = Guards.of(app.name, app)
        found = own if found is None else own + found
    return found
