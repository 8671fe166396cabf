"""ReadonlyContext: a read-only view of a run. `ostinato.agents.readonly_context`
faces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, cast

from .. import types
from ..sessions.session import Session
from .deps import Deps_co
from .invocation import InvocationContext

if TYPE_CHECKING:
    from ..auth.auth_credential import AuthCredential
    from .run_config import RunConfig


class ReadonlyContext(Generic[Deps_co]):
    """Read-only view of a run, for instructions, tool filters and guardrails (Spec 4 §9).

    `ReadonlyContext[MyDeps]` says to the type checker what `deps` is.

    Args:
      invocation_context: the run.
    """

    def __init__(self, invocation_context: InvocationContext) -> None:
        self._invocation_context = invocation_context

    @property
    def user_content(self) -> types.Content | None:
        """The message that started the run."""
        return self._invocation_context.user_content

    @property
    def invocation_id(self) -> str:
        """Id of the run."""
        return self._invocation_context.invocation_id

    @property
    def agent_name(self) -> str:
        """Name of the agent that runs now; `unknown` in a context that was made without one."""
        agent = self._invocation_context.agent
        return "unknown" if agent is None else agent.name

    @property
    def code_executor(self) -> Any:
        """The code executor of the agent that runs now, or None."""
        return getattr(self._invocation_context.agent, "code_executor", None)

    @property
    def state(self) -> Mapping[str, Any]:
        """The session's state; writing to it raises TypeError."""
        return MappingProxyType(self._invocation_context.session.state)

    @property
    def session(self) -> Session:
        """The session."""
        return self._invocation_context.session

    @property
    def deps(self) -> Deps_co:
        """The deps passed with `deps=` or made by `make_deps`; never stored.

        Raises:
          MissingDepsError: it passed none.
        """
        return cast(Deps_co, self._invocation_context.deps)

    @property
    def user_id(self) -> str:
        """Id of the user."""
        return self._invocation_context.user_id

    @property
    def app_name(self) -> str:
        """Name of the app."""
        return self._invocation_context.app_name

    @property
    def run_config(self) -> RunConfig | None:
        """Settings of the run."""
        return self._invocation_context.run_config

    def get_credential(self, key: str) -> AuthCredential | None:
        """Return the credential that this run resolved under `key`, or None."""
        return self._invocation_context.credential_by_key.get(key)


def invocation_of(context: ReadonlyContext[Any]) -> InvocationContext:
    """Return the run that a context shows; also of users' stand-ins, which have nothing else."""
    return context._invocation_context  # pyright: ignore[reportPrivateUsage]
