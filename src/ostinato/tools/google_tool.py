"""GoogleTool: a Python function that receives credentials of Google and the toolset's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from .._log import get_logger
from ..errors import MissingExtraError
from .function.function_signature import Parameter, Signature
from .function_tool import FunctionTool
from .google.credentials import BaseGoogleCredentialsConfig, GoogleCredentialsManager

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

_log = get_logger(__name__)

_CREDENTIALS = "credentials"
_SETTINGS = "settings"


class GoogleTool(FunctionTool):
    """A function tool that calls a Google service.

    The function gets a login of google-auth in its parameter `credentials` and the settings in
    `settings`, if it has them; the model is not told of either and cannot fill them in.

    Args:
      func: the function, plain or async.
      credentials_config: where the login comes from; without one the function gets None.
      tool_settings: what `settings` is.
    """

    _own_parameters = (_CREDENTIALS, _SETTINGS)
    has_outside_results = True

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        credentials_config: BaseGoogleCredentialsConfig | None = None,
        tool_settings: BaseModel | None = None,
    ) -> None:
        super().__init__(func=func)
        self._credentials_manager = (
            GoogleCredentialsManager(credentials_config) if credentials_config else None
        )
        self._tool_settings = tool_settings

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Get the credentials and call the function with them; without them, ask the user.

        Returns:
          What the function returned; a text for the model while the user is asked; a dict with
          `status` ERROR and `error_details` if anything failed.

        Raises:
          MissingExtraError: google-auth is not installed.
        """
        try:
            login = None
            if self._credentials_manager is not None:
                login = await self._credentials_manager.get_valid_credentials(tool_context)
                if login is None:
                    return (
                        "User authorization is required to access Google services for "
                        f"{self.name}. Please complete the authorization flow."
                    )
            return await self._run_async_with_credential(
                login, self._tool_settings, args, tool_context
            )
        except MissingExtraError:
            raise  # the developer installs it
        except Exception as error:  # boundary: google-adk's tools report every failure to the model
            _log.warning("Tool %r failed: %s", self.name, error)
            return {"status": "ERROR", "error_details": str(error)}

    async def _run_async_with_credential(
        self,
        credentials: Any,
        tool_settings: BaseModel | None,
        args: dict[str, Any],
        tool_context: ToolContext,
    ) -> Any:
        """Call the function; a subclass may do more."""
        given = {**args, _CREDENTIALS: credentials, _SETTINGS: tool_settings}
        return await super().run_async(args=given, tool_context=tool_context)

    def _read_signature(self) -> Signature:
        if self._signature is None:
            signature = super()._read_signature()
            # Both are passed on unchanged, whatever type the function declares.
            signature.parameters = [
                Parameter(self.name, p.name, Any, None, False)
                if p.name in self._own_parameters
                else p
                for p in signature.parameters
            ]
        return super()._read_signature()
