"""AuthenticatedFunctionTool: a Python function that receives a credential."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .base_authenticated_tool import make_credential_manager, run_authenticated
from .function.function_signature import Parameter, Signature
from .function_tool import FunctionTool

if TYPE_CHECKING:
    from ..auth.auth_credential import AuthCredential
    from ..auth.auth_tool import AuthConfig
    from ..context.context import Context as ToolContext

CREDENTIAL_PARAMETER = "credential"


class AuthenticatedFunctionTool(FunctionTool):
    """A function tool that needs a credential (FEATURES row 129).

    The function gets it in its parameter `credential`, if it has one; the model is not told of
    that parameter and cannot fill it in.

    Args:
      func: the function.
      auth_config: the credential; without one the function is called without.
      response_for_auth_required: what the model is told while the user is asked.
    """

    _own_parameters = (CREDENTIAL_PARAMETER,)

    def __init__(
        self,
        *,
        func: Callable[..., Any],
        auth_config: AuthConfig | None = None,
        response_for_auth_required: dict[str, Any] | str | None = None,
    ) -> None:
        super().__init__(func)
        self._credentials_manager = make_credential_manager(self.name, auth_config)
        self._response_for_auth_required = response_for_auth_required

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Get the credential and call the function with it; without it, ask the user.

        Returns:
          As `FunctionTool.run_async`; `response_for_auth_required` while the user is asked.

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

    async def _run_async_impl(
        self,
        *,
        args: dict[str, Any],
        tool_context: ToolContext,
        credential: AuthCredential | None,
    ) -> Any:
        given = {**args, CREDENTIAL_PARAMETER: credential}
        return await super().run_async(args=given, tool_context=tool_context)

    def _read_signature(self) -> Signature:
        if self._signature is None:
            signature = super()._read_signature()
            # The credential is passed on unchanged, whatever type the function declares.
            signature.parameters = [
                Parameter(self.name, p.name, Any, p.default, p.inject_default)
                if p.name == CREDENTIAL_PARAMETER
                else p
                for p in signature.parameters
            ]
        return super()._read_signature()
