"""Runs of the agents that a message is for, each under the guardrails above it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .._aclosing import Aclosing
from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..agents.node_agent import NodeAgent
from ..apps.app import App
from ..context.guardrail import Guards
from ..context.invocation import InvocationContext
from ..errors import StaleSessionError, StoreError
from ..events.event import Event
from .routing.agent_choice import prepare_answer
from .routing.task_choice import Run, after_tasks

logger = get_logger(__name__)


def then_other_answers(run: Run, app: App, root_agent: BaseAgent) -> Run:
    """Return a run that continues with the agents of the message's other answers, in their order.

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
        if errors:
            raise errors[0]

    return run_all


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
        logger.warning(
            "Agent %r failed; the agents of the other answers run first: %s", name, error
        )
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
