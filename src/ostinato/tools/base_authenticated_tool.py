"""BaseAuthenticatedTool: a tool that receives a credential.

Subclasses implement `_run_async_impl`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .._log import get_logger
from ..auth.credential_manager import CredentialManager
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..auth.auth_credential import AuthCredential
    from ..auth.auth_tool import AuthConfig
    from ..context.context import Context as ToolContext

_log = get_logger(__name__)

# What the model is told while the user is asked; ADK programs look for it.
PENDING = "Pending User Authorization."


class BaseAuthenticatedTool(BaseTool):
    """A tool that needs a credential (FEATURES row 129).

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      auth_config: the credential; without one the tool runs without.
      response_for_auth_required: what the model is told while the user is asked.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str,
        auth_config: AuthConfig | None = None,
        response_for_auth_required: dict[str, Any] | str | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self._credentials_manager = make_credential_manager(name, auth_config)
        self._response_for_auth_required = response_for_auth_required

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Get the credential and run the tool with it; without it, ask the user.

        Returns:
          What `_run_async_impl` returned, or `response_for_auth_required` while the user is asked.

        Raises:
          AgentConfigError: `auth_config` cannot work.
          CredentialExchangeError, CredentialRefresherError: the provider failed.
        """
        return await run_authenticated(
            self._credentials_manager,
            self._run_async_impl,
            self._response_for_auth_required,
            args=args,
            tool_context=tool_context,
        )

    @abstractmethod
    async def _run_async_impl(
        self,
        *,
        args: dict[str, Any],
        tool_context: ToolContext,
        credential: AuthCredential | None,
    ) -> Any:
        """Run the tool; `credential` is None only where it has no `auth_config`."""


def make_credential_manager(name: str, auth_config: AuthConfig | None) -> CredentialManager | None:
    """Return the credential manager of a tool; log a warning and return None without a config."""
    if auth_config is None:
        _log.warning(
            "Tool %r has no auth_config and runs without a credential. Give it one, or use a tool "
            "that needs none.",
            name,
        )
        return None
    return CredentialManager(auth_config)


async def run_authenticated(
    manager: CredentialManager | None,
    run: Callable[..., Awaitable[Any]],
    while_asking: dict[str, Any] | str | None,
    *,
    args: dict[str, Any],
    tool_context: ToolContext,
) -> Any:
    """Call `run` with the credential that `manager` gets; without it, ask the user.

    Returns:
      What `run` returned; `while_asking`, or PENDING, while the user is asked.
    """
    credential = await manager.get_auth_credential(tool_context) if manager else None
    if manager and credential is None:
        await manager.request_credential(tool_context)
        return while_asking or PENDING
    return await run(args=args, tool_context=tool_context, credential=credential)
