"""OAuth2 clients of services that publish how they authenticate (RFC 9728, RFC 8414, RFC 7591).

A program calls `discover_client` once per service, such as an MCP server, and keeps the credential.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlsplit

from ostinato._bounded_body import read_body
from ostinato._optional import need
from ostinato.auth._token_endpoint import MAX_BYTES, is_confidential, public_address
from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from ostinato.auth.auth_schemes import ExtendedOAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from ostinato.auth.oauth2_discovery import (
    AuthorizationServerMetadata,
    OAuth2DiscoveryManager,
    ProtectedResourceMetadata,
)
from ostinato.errors import AgentConfigError

TIMEOUT_SECONDS = 20.0
_METHODS = ("client_secret_basic", "client_secret_post")


class DiscoveredClient(NamedTuple):
    """What a toolset needs to authenticate its users.

    Attributes:
      auth_scheme: where users consent and tokens are granted.
      auth_credential: the client, with PKCE.
    """

    auth_scheme: ExtendedOAuth2
    auth_credential: AuthCredential


async def discover_client(
    resource_url: str,
    *,
    redirect_uri: str,
    client_id: str | None = None,
    client_secret: str | None = None,
    client_name: str = "Ostinato",
    scopes: Sequence[str] | None = None,
) -> DiscoveredClient:
    """Find out how a service authenticates, and register a client unless one is given.

    Store the result: each call without `client_id` registers another client.

    Args:
      resource_url: address of the service, such as an MCP server's.
      redirect_uri: where the user's browser is sent back to.
      client_id, client_secret: a client that is registered already.
      client_name: what users see when they are asked for consent.
      scopes: what to ask for; what the service or its authorization server names by default.

    Returns:
      Scheme and credential for `McpToolset(auth_scheme=..., auth_credential=...)`.

    Raises:
      AgentConfigError: the service or its authorization server publishes too little, or refuses
        the registration.
    """
    manager = OAuth2DiscoveryManager()
    resource = await _find_resource(manager, resource_url)
    split = urlsplit(resource_url)
    own = f"{split.scheme}://{split.netloc}"  # as in the MCP specification of March 2025
    issuer = resource.authorization_servers[0] if resource else own
    metadata = await manager.discover_auth_server_metadata(issuer)
    if metadata is None:
        raise AgentConfigError(
            f"{public_address(resource_url)} does not say how it authenticates: no metadata of "
            f"its authorization server {public_address(issuer)} could be read. Give the scheme's "
            "endpoints yourself."
        )
    wanted = list(scopes if scopes is not None else metadata.scopes_supported or ())
    client = OAuth2Auth(client_id=client_id, client_secret=client_secret)
    if client_id is None:
        client = await _register(metadata, redirect_uri, client_name, wanted)
    client.redirect_uri = redirect_uri
    client.code_challenge_method = "S256"
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl=_name_resource(metadata.authorization_endpoint, resource_url),
        tokenUrl=metadata.token_endpoint,
        scopes=dict.fromkeys(wanted, ""),
    )
    return DiscoveredClient(
        ExtendedOAuth2(flows=OAuthFlows(authorizationCode=flow), issuer_url=issuer),
        AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=client),
    )


async def _find_resource(
    manager: OAuth2DiscoveryManager, resource_url: str
) -> ProtectedResourceMetadata | None:
    """Return what a service, or else its whole host, says of its authorization servers."""
    found = await manager.discover_resource_metadata(resource_url)
    if found is None:
        split = urlsplit(resource_url)
        found = await manager.discover_resource_metadata(f"{split.scheme}://{split.netloc}")
    return found if found is not None and found.authorization_servers else None


def _name_resource(endpoint: str, resource_url: str) -> str:
    """Return the authorization endpoint with the service that the token is for (RFC 8707)."""
    mark = "&" if urlsplit(endpoint).query else "?"
    return f"{endpoint}{mark}resource={quote(resource_url, safe='')}"


async def _register(
    metadata: AuthorizationServerMetadata, redirect_uri: str, name: str, scopes: list[str]
) -> OAuth2Auth:
    """Register a client with a secret.

    Raises:
      AgentConfigError: the server takes no registrations, refuses this one, or gives no secret.
    """
    server = public_address(metadata.issuer)
    endpoint = metadata.registration_endpoint
    if endpoint is None or not is_confidential(endpoint):
        raise AgentConfigError(
            f"{server} registers no clients by itself. Register one there by hand, and give its "
            "client_id and client_secret."
        )
    supported: Any = (metadata.model_extra or {}).get("token_endpoint_auth_methods_supported")
    methods = [one for one in _METHODS if not isinstance(supported, list) or one in supported]
    request = {
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": (methods or ["client_secret_basic"])[0],
        "scope": " ".join(scopes),
    }
    status, answer = await _post(endpoint, {k: v for k, v in request.items() if v})
    client_id, secret = answer.get("client_id"), answer.get("client_secret")
    if not isinstance(client_id, str) or not isinstance(secret, str):
        raise AgentConfigError(
            f"{server} registered no client with a secret (HTTP {status}). Register one there by "
            "hand, and give its client_id and client_secret."
        )
    method: Any = answer.get("token_endpoint_auth_method") or request["token_endpoint_auth_method"]
    return OAuth2Auth(client_id=client_id, client_secret=secret, token_endpoint_auth_method=method)


async def _post(endpoint: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return status and JSON object of an answer; an empty object for anything else."""
    httpx2 = need("httpx2")
    place = public_address(endpoint)
    body, status = b"", 0
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx2.AsyncClient() as client,
            client.stream("POST", endpoint, json=request) as response,
        ):
            status = response.status_code
            body = await read_body(response, MAX_BYTES)
        answer: Any = json.loads(body) if len(body) <= MAX_BYTES else None
    except (httpx2.HTTPError, TimeoutError) as error:
        raise AgentConfigError(
            f"No client could be registered at {place} ({type(error).__name__}). Try again later."
        ) from None
    except ValueError:
        answer = None
    is_object = isinstance(answer, dict) and status < 400
    return status, cast("dict[str, Any]", answer) if is_object else {}
