"""Where the answer of an agent that searches came from, on what its caller's model says next."""

from __future__ import annotations

from collections.abc import Container

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...tools.agent_tool import GROUNDING_KEY
from ...tools.searching_agent import SEARCHING_AGENT

_NAME: str = SEARCHING_AGENT["name"]


def note_grounding(ctx: InvocationContext, event: Event, tools: Container[str]) -> None:
    """Put what the invocation's last search found into a response of the agent that searched.

    Args:
      ctx: the run.
      event: the response, after the hooks.
      tools: names of the agent's tools; one that is called as the searching agent is counts.
    """
    if _NAME in tools:
        found = ctx.session.state.get(GROUNDING_KEY)
        if found is not None:
            event.grounding_metadata = found
