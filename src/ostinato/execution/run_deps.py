"""DepsSource: deps of runs, passed by the caller or made by `make_deps`.

They are checked against the agents' `deps_type` before the run stores anything.
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
    """Provides the deps of a runner's runs.

    Args:
      root: root of the agent tree.
      make: makes deps for a run without any, or None.

    Attributes:
      is_idle: whether there is nothing to make and nothing to check.
    """

    def __init__(self, root: BaseAgent, make: MakeDeps | None) -> None:
        self._wanted = list(_find_declared(root))
        self._make = make
        self.is_idle = make is None and not self._wanted

    async def provide(self, ctx: InvocationContext, given: Any) -> Any:
        """Return the deps of a run.

        Args:
          ctx: the run, for `make_deps`.
          given: the caller's deps, or `NOT_GIVEN`.

        Raises:
          MissingDepsError: an agent declares deps, and they are missing or of another type.
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
                    f"{ctx.invocation_id!r} was given none. Pass them as `deps=`; for runs without "
                    "a caller, such as resumed ones, give the Runner or the App `make_deps`."
                )
            if not isinstance(deps, wanted):
                raise MissingDepsError(
                    f"Agent {agent!r} works with deps of type {wanted.__name__}; invocation "
                    f"{ctx.invocation_id!r} was given a {type(deps).__name__}."
                )
        return deps


def _find_declared(agent: BaseAgent) -> Iterator[tuple[str, type[Any]]]:
    """Yield agents' names with the classes of deps that they declare, if checkable."""
    wanted = get_origin(agent.deps_type) or agent.deps_type
    is_open = getattr(wanted, "_is_protocol", False)  # isinstance cannot check it
    if isinstance(wanted, type) and not is_open:
        yield agent.name, wanted
    for sub_agent in agent.sub_agents:
        yield from _find_declared(sub_agent)
