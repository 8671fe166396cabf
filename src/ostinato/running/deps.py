"""Deps of a run: those that its caller passed, else what `make_deps` makes. They are checked
against what the agents declare as `deps_type`, before anything is stored. The runner's set-up asks.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_origin

from ..agents.base_agent import BaseAgent
from ..context.deps import NOT_GIVEN, MakeDeps
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ..errors import MissingDepsError


class DepsSource:
    """Where the runs of a runner get their deps.

    Args:
      root: root of the agent tree.
      make: makes deps for a run that was passed none; None where there is no such function.

    Attributes:
      is_idle: whether neither is there anything to make, nor anything to check.
    """

    def __init__(self, root: BaseAgent, make: MakeDeps | None) -> None:
        self._wanted = list(_declared(root))
        self._make = make
        self.is_idle = make is None and not self._wanted

    async def provide(self, ctx: InvocationContext, given: Any) -> Any:
        """Return the deps of a run.

        Args:
          ctx: the run, as `make_deps` may look at it.
          given: what its caller passed; `NOT_GIVEN` where nothing.

        Raises:
          MissingDepsError: an agent declares deps, and there are none, or of another type.
          Exception: what `make_deps` raised.
        """
        deps = given
        if deps is NOT_GIVEN and self._make is not None:
            deps = self._make(ReadonlyContext(ctx))
            if inspect.isawaitable(deps):
                deps = await deps
        for agent, wanted in self._wanted:
            if deps is NOT_GIVEN:
                raise MissingDepsError(
                    f"Agent {agent!r} works with deps of type {wanted.__name__}, and invocation "
                    f"{ctx.invocation_id!r} was given none. Pass them as `deps=`; for runs that "
                    "nobody passes them to, such as resumed ones, give the Runner or the App "
                    "`make_deps`."
                )
            if not isinstance(deps, wanted):
                raise MissingDepsError(
                    f"Agent {agent!r} works with deps of type {wanted.__name__}; invocation "
                    f"{ctx.invocation_id!r} was given a {type(deps).__name__}."
                )
        return deps


def _declared(agent: BaseAgent) -> Iterator[tuple[str, type[Any]]]:
    """Yield agents' names and the classes of deps that they declare, as far as a check can tell."""
    wanted = get_origin(agent.deps_type) or agent.deps_type
    is_open = getattr(wanted, "_is_protocol", False)  # only the type checker can tell
    if isinstance(wanted, type) and not is_open:
        yield agent.name, wanted
    for sub_agent in agent.sub_agents:
        yield from _declared(sub_agent)
