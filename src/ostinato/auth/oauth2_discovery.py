"""Finds the endpoints of an authorization server from its address (RFC 8414, RFC 9728, OpenID
Connect Discovery 1.0). The credential manager and the authentication handler call it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Optional, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from ostinato._bounded_body import read_body
from ostinato._log import get_logger
from ostinato._optional import need
from ostinato.auth._token_endpoint import (
    EXTRA,
    MAX_BYTES,
    is_confidential,
    public_address,
)

_log = get_logger(__name__)

TIMEOUT_SECONDS = 10.0

_SERVER = ".well-known/oauth-authorization-server"
_OPENID = ".well-known/openid-configuration"
_RESOURCE = ".well-known/oauth-protected-resource"

_Metadata = TypeVar("_Metadata", bound=BaseModel)


class AuthorizationServerMetadata(BaseModel):
    """Where an authorization server asks for consent and grants tokens (RFC 8414 §2)."""

    model_config = ConfigDict(defer_build=True, extra="allow")

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    scopes_supported: Optional[list[str]] = None
    registration_endpoint: Optional[str] = None


class ProtectedResourceMetadata(BaseModel):
    """Which authorization servers a service trusts (RFC 9728 §2)."""

    model_config = ConfigDict(defer_build=True)

    resource: str
    authorization_servers: list[str] = []


class OAuth2DiscoveryManager:
    """Fetches and checks discovery documents."""

    async def discover_auth_server_metadata(
        self, issuer_url: str
    ) -> AuthorizationServerMetadata | None:
        """Return the endpoints of the server `issuer_url`, or None if it publishes none.

        Each well-known address is tried in turn. A document that names another issuer is not
        believed.
        """
        for address in _server_addresses(issuer_url):
            found = await self.fetch_document(address, AuthorizationServerMetadata)
            if found is None:
                continue
            if found.issuer.rstrip("/") == issuer_url.rstrip("/"):
                return found
            _log.warning(
                "The document at %s is of another issuer than asked for; it is not used.",
                public_address(address),
            )
        return None

    async def discover_resource_metadata(
        self, resource_url: str
    ) -> ProtectedResourceMetadata | None:
        """What the service `resource_url` says of its authorization servers, None if nothing."""
        place = _root_and_path(resource_url)
        if place is None:
            return None
        root, path = place
        found = await self.fetch_document(f"{root}/{_RESOURCE}{path}", ProtectedResourceMetadata)
        if found is not None and found.resource.rstrip("/") != resource_url.rstrip("/"):
            _log.warning(
                "The document of %s is of another resource than asked for; it is not used.",
                public_address(resource_url),
            )
            return None
        return found

    async def fetch_document(self, address: str, record: type[_Metadata]) -> _Metadata | None:
        """Fetch one discovery document.

        Returns:
            The document; None if it is not there, is not one, or it or an endpoint that it names
            is not https. On the loopback http is allowed.
        """
        if _root_and_path(address) is None:
            return None
        if not is_confidential(address):
            _log.warning("%s is not asked for: it is not https.", public_address(address))
            return None
        http = need("httpx2", extra=EXTRA)
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                http.AsyncClient() as client,
                client.stream("GET", address, headers={"Accept": "application/json"}) as response,
            ):
                if response.status_code != 200:
                    return None
                found = record.model_validate(await _json(response))
        except (
            http.HTTPError,
            http.InvalidURL,
            TimeoutError,
            ValueError,
        ) as error:
            _log.warning(
                "No discovery document at %s (%s).", public_address(address), type(error).__name__
            )
            return None
        if not _has_confidential_endpoints(found):
            _log.warning(
                "The document at %s names an endpoint that is not https; it is not used.",
                public_address(address),
            )
            return None
        return found


def has_origin_of(address: str, other: str) -> bool:
    """Return whether two addresses have the same scheme, host and port."""
    first, second = _root_and_path(address), _root_and_path(other)
    return first is not None and second is not None and first[0].lower() == second[0].lower()


def _has_confidential_endpoints(found: BaseModel) -> bool:
    if not isinstance(found, AuthorizationServerMetadata):
        return True
    return is_confidential(found.authorization_endpoint) and is_confidential(found.token_endpoint)


async def _json(response: Any) -> Any:
    body = await read_body(response, MAX_BYTES)
    if len(body) > MAX_BYTES:
        raise ValueError("too long")
    return json.loads(body)


def _root_and_path(address: str) -> tuple[str, str] | None:
    try:
        split = urlsplit(address)
    except ValueError:
        return None
    if split.scheme not in ("http", "https") or not split.netloc:
        return None
    return f"{split.scheme}://{split.netloc}", split.path.rstrip("/")


def _server_addresses(issuer_url: str) -> list[str]:
    place = _root_and_path(issuer_url)
    if place is None:
        return []
    root, path = place
    first = [f"{root}/{_SERVER}{path}", f"{root}/{_OPENID}{path}"]
    return [*first, f"{root}{path}/{_OPENID}"] if path else first
