"""GoogleApiToolset: the methods of a Google API as tools."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from ...auth.auth_credential import ServiceAccount
from ...auth.auth_schemes import OpenIdConnectWithConfig
from ..base_tool import BaseTool
from ..base_toolset import BaseToolset, ToolPredicate
from ..openapi.openapi_toolset import OpenAPIToolset
from ..openapi.rest_api_tool import RestApiTool
from .discovery_document import DiscoverySource
from .google_api_tool import GoogleApiTool
from .googleapi_to_openapi_converter import GoogleApiToOpenApiConverter

if TYPE_CHECKING:
    from ...context.readonly import ReadonlyContext


class GoogleApiToolset(BaseToolset):
    """The methods of a Google API, made of its discovery document.

    The document is fetched when the tools are first listed. Users are asked for the API's first
    scope and `additional_scopes`.

    Args:
      api_name: the API's name, such as `calendar`.
      api_version: its version, such as `v3`.
      client_id, client_secret: the OAuth2 client by which each user is asked for consent.
      tool_filter: names of the tools to offer, or a predicate.
      service_account: the account that asks for all users; it goes before the client.
      tool_name_prefix: put before each tool's name, with an underscore between.
      additional_headers: sent with each request.
      additional_scopes: what users are asked for besides the API's first scope.
      discovery_url: where the document is, in place of Google's addresses.
      discovery_document: the document itself, as a dict or the path of a JSON file.
      allow_private_network_access: whether the API may be at a private address, such as an endpoint
        of Private Service Connect. The proxies of the environment are used only then.
    """

    def __init__(
        self,
        api_name: str,
        api_version: str,
        client_id: str | None = None,
        client_secret: str | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        service_account: ServiceAccount | None = None,
        tool_name_prefix: str | None = None,
        *,
        additional_headers: dict[str, str] | None = None,
        additional_scopes: list[str] | None = None,
        discovery_url: str | None = None,
        discovery_document: DiscoverySource | None = None,
        allow_private_network_access: bool = False,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self.api_name = api_name
        self.api_version = api_version
        self._client_id = client_id
        self._client_secret = client_secret
        self._service_account = service_account
        self._additional_headers = additional_headers
        self._additional_scopes = additional_scopes or []
        self._converter = GoogleApiToOpenApiConverter(
            api_name,
            api_version,
            discovery_url=discovery_url,
            discovery_document=discovery_document,
        )
        self._allow_private = allow_private_network_access
        self._loading = threading.Lock()
        self._openapi_toolset: OpenAPIToolset | None = None

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools offered in the run that `readonly_context` shows.

        Raises:
          AgentConfigError: there is no such API, or its document is not one.
          GoogleApiError: the document cannot be fetched.
        """
        toolset = self._openapi_toolset
        if toolset is None:
            toolset = await asyncio.to_thread(self._load_toolset)
        return [
            GoogleApiTool(
                tool,
                self._client_id,
                self._client_secret,
                self._service_account,
                additional_headers=self._additional_headers,
            )
            for tool in await toolset.get_tools(readonly_context)
            if isinstance(tool, RestApiTool) and self._is_tool_selected(tool, readonly_context)
        ]

    def set_tool_filter(self, tool_filter: ToolPredicate | list[str]) -> None:
        """Set which tools are offered: their names, or a predicate."""
        self.tool_filter = tool_filter

    def configure_auth(self, client_id: str, client_secret: str) -> None:
        """Ask each user for consent, by this OAuth2 client."""
        self._client_id = client_id
        self._client_secret = client_secret

    def configure_sa_auth(self, service_account: ServiceAccount) -> None:
        """Ask as a service account, for all users."""
        self._service_account = service_account

    async def close(self) -> None:
        """Close the connections."""
        if self._openapi_toolset is not None:
            await self._openapi_toolset.close()

    def _load_toolset(self) -> OpenAPIToolset:
        with self._loading:
            if self._openapi_toolset is None:
                document = self._converter.convert()
                # Some documents describe methods that OpenAPI cannot; the others are offered.
                self._openapi_toolset = OpenAPIToolset(
                    spec_dict=document,
                    auth_scheme=self._make_scheme(document),
                    strict=False,
                    allow_private_network_access=self._allow_private,
                )
            return self._openapi_toolset

    def _make_scheme(self, document: dict[str, Any]) -> OpenIdConnectWithConfig:
        schemes = document["components"]["securitySchemes"]
        flows = schemes.get("oauth2", {}).get("flows", {})
        offered: dict[str, str] = flows.get("authorizationCode", {}).get("scopes", {})
        scopes = dict.fromkeys([*list(offered)[:1], *self._additional_scopes])
        return OpenIdConnectWithConfig(
            authorization_endpoint="https://accounts.google.com/o/oauth2/v2/auth",
            token_endpoint="https://oauth2.googleapis.com/token",
            userinfo_endpoint="https://openidconnect.googleapis.com/v1/userinfo",
            revocation_endpoint="https://oauth2.googleapis.com/revoke",
            token_endpoint_auth_methods_supported=["client_secret_post", "client_secret_basic"],
            grant_types_supported=["authorization_code"],
            scopes=list(scopes),
        )
