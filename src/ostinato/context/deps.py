"""Deps: what a program hands to the tools, instructions and callbacks of one run, such as a
connection to a database. They are objects of the process: nothing that is stored ever holds them.

`ReadonlyContext.deps` and `InvocationContext.deps` give them; the runner lends them to the run.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from typing_extensions import TypeVar

from ..errors import MissingDepsError

Deps = TypeVar("Deps", default=Any)
Deps_co = TypeVar("Deps_co", default=Any, covariant=True)

MakeDeps: TypeAlias = Callable[[Any], Any | Awaitable[Any]]
"""A function, plain or async, from a run's ReadonlyContext to its deps."""


class NotGiven(enum.Enum):
    """Says that a run has no deps; None may be deps."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN


def require_deps(deps: Any, agent_name: str) -> Any:
    """Return a run's deps, for an agent that reads them.

    Raises:
      MissingDepsError: the run has none.
    """
    if deps is NOT_GIVEN:
        raise MissingDepsError(
            f"Agent {agent_name!r} asks for `deps`, and its run was given none. Pass them: "
            "`agent.run(..., deps=...)` or `runner.run_async(..., deps=...)`; for runs without "
            "a caller, such as resumed ones, `Runner(..., make_deps=...)` or "
            "`resume_open(deps=...)`."
        )
    return deps
