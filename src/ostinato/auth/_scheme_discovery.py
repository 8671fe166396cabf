"""Fills in a scheme's endpoints from its server's discovery document, and remembers them.

The credential manager calls it, and the authentication handler before it asks for consent.
"""

from __future__ import annotations

from typing import Any, Optional

from ostinato._clock import now
from ostinato.auth.auth_schemes import (
    AuthScheme,
    ExtendedOAuth2,
    OAuthFlows,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)
from ostinato.auth.oauth2_discovery import AuthorizationServerMetadata, OAuth2DiscoveryManager

KEEP_SECONDS = 3_600
CAPACITY = 256

_found: dict[str, tuple[float, AuthorizationServerMetadata]] = {}


class _OpenIdMetadata(AuthorizationServerMetadata):
    """What OpenID Connect adds to a server's metadata."""

    userinfo_endpoint: Optional[str] = None
    revocation_endpoint: Optional[str] = None
    token_endpoint_auth_methods_supported: Optional[list[str]] = None
    grant_types_supported: Optional[list[str]] = None


def needs_discovery(scheme: AuthScheme) -> bool:
    """Whether endpoints are missing that a discovery document may tell."""
    if isinstance(scheme, OpenIdConnect):
        return True
    return (
        isinstance(scheme, ExtendedOAuth2)
        and bool(scheme.issuer_url)
        and _lacks_address(scheme.flows)
    )


async def complete_scheme(scheme: AuthScheme) -> AuthScheme:
    """The scheme with its endpoints; the same scheme where there is nothing to find or no answer.

    An answer is kept for an hour.
    """
    if not needs_discovery(scheme):
        return scheme
    manager = OAuth2DiscoveryManager()
    if isinstance(scheme, OpenIdConnect):
        address = scheme.openIdConnectUrl
        found = _remembered(address) or _remember(
            address, await manager.fetch_document(address, _OpenIdMetadata)
        )
        return _open_id_scheme(scheme, found) if found else scheme
    if isinstance(scheme, ExtendedOAuth2) and scheme.issuer_url:
        issuer = scheme.issuer_url
        found = _remembered(issuer) or _remember(
            issuer, await manager.discover_auth_server_metadata(issuer)
        )
        return _filled(scheme, found) if found else scheme
    return scheme


def _lacks_address(flows: OAuthFlows) -> bool:
    addresses = [
        getattr(flow, name)
        for flow in (flows.implicit, flows.authorizationCode, flows.clientCredentials)
        for name in ("authorizationUrl", "tokenUrl")
        if flow is not None and hasattr(flow, name)
    ]
    return not all(addresses)


def _remembered(address: str) -> AuthorizationServerMetadata | None:
    kept = _found.get(address)
    return kept[1] if kept and now() - kept[0] < KEEP_SECONDS else None


def _remember(
    address: str, found: AuthorizationServerMetadata | None
) -> AuthorizationServerMetadata | None:
    if found is not None:
        _found.pop(address, None)
        if len(_found) >= CAPACITY:
            _found.pop(next(iter(_found)))
        _found[address] = (now(), found)
    return found


def _open_id_scheme(
    scheme: OpenIdConnect, found: AuthorizationServerMetadata
) -> OpenIdConnectWithConfig:
    known: dict[str, Any] = {
        name: value for name, value in found if name in OpenIdConnectWithConfig.model_fields
    }
    asked: Any = (scheme.model_extra or {}).get("scopes")
    return OpenIdConnectWithConfig(
        **known, description=scheme.description, scopes=asked or ["openid"]
    )


def _filled(scheme: ExtendedOAuth2, found: AuthorizationServerMetadata) -> ExtendedOAuth2:
    whole = scheme.model_copy(deep=True)
    for flow in (whole.flows.implicit, whole.flows.authorizationCode):
        if flow is not None:
            flow.authorizationUrl = flow.authorizationUrl or found.authorization_endpoint
    for flow in (whole.flows.authorizationCode, whole.flows.clientCredentials):
        if flow is not None:
            flow.tokenUrl = flow.tokenUrl or found.token_endpoint
    return whole
