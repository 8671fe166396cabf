"""GoogleApiTool: one method of a Google API as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import types
from ...auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    OAuth2Auth,
    ServiceAccount,
)
from ...events.tool_origin import ToolOrigin
from ..base_tool import BaseTool
from ..openapi.auth_helpers import service_account_scheme_credential
from ..openapi.rest_api_tool import RestApiTool

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext


class GoogleApiTool(BaseTool):
    """A method of a Google API.

    Args:
      rest_api_tool: the operation; it is changed.
      client_id, client_secret: the OAuth2 client by which each user is asked for consent.
      service_account: the account that asks for all users; it goes before the client.
      additional_headers: sent with each request.
    """

    has_outside_results = True

    def __init__(
        self,
        rest_api_tool: RestApiTool,
        client_id: str | None = None,
        client_secret: str | None = None,
        service_account: ServiceAccount | None = None,
        *,
        additional_headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            name=rest_api_tool.name,
            description=rest_api_tool.description,
            is_long_running=rest_api_tool.is_long_running,
            in_doubt=rest_api_tool.in_doubt,
            check=rest_api_tool.in_doubt_check,
        )
        self._rest_api_tool = rest_api_tool
        if additional_headers:
            rest_api_tool.set_default_headers(additional_headers)
        if service_account is not None:
            self.configure_sa_auth(service_account)
        elif client_id is not None and client_secret is not None:
            self.configure_auth(client_id, client_secret)

    @property
    def tool_origin(self) -> ToolOrigin:
        """The API, and the method's place in it."""
        return self._rest_api_tool.tool_origin

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return self._rest_api_tool._get_declaration()  # pyright: ignore[reportPrivateUsage]

    def find_argument_fault(self, args: dict[str, Any]) -> str:
        """Return why arguments that a person edited do not fit the method; see BaseTool."""
        return self._rest_api_tool.find_argument_fault(args)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the method.

        Returns:
          What the API answered, or a dict for the model with what went wrong or is needed.
        """
        return await self._rest_api_tool.run_async(args=args, tool_context=tool_context)

    def configure_auth(self, client_id: str, client_secret: str) -> None:
        """Ask each user for consent, by this OAuth2 client."""
        self._rest_api_tool.configure_auth_credential(
            AuthCredential(
                auth_type=AuthCredentialTypes.OPEN_ID_CONNECT,
                oauth2=OAuth2Auth(client_id=client_id, client_secret=client_secret),
            )
        )

    def configure_sa_auth(self, service_account: ServiceAccount) -> None:
        """Ask as a service account, for all users."""
        scheme, credential = service_account_scheme_credential(service_account)
        self._rest_api_tool.configure_auth_scheme(scheme)
        self._rest_api_tool.configure_auth_credential(credential)
