"""Fills in a scheme's endpoints from its server's discovery document, and remembers them.

The credential manager calls it, and the authentication handler before it asks for consent.
"""

from __future__ import annotations

from typing import Any, Optional

from ostinato._clock import now
from ostinato._log import get_logger
from ostinato.auth._token_endpoint import public_address
from ostinato.auth.auth_schemes import (
    AuthScheme,
    ExtendedOAuth2,
    OAuthFlows,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)
from ostinato.auth.oauth2_discovery import (
    AuthorizationServerMetadata,
    OAuth2DiscoveryManager,
    has_origin_of,
)

_log = get_logger(__name__)

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
    """Return whether endpoints are missing that a discovery document may tell."""
    if isinstance(scheme, OpenIdConnect):
        return True
    return (
        isinstance(scheme, ExtendedOAuth2)
        and bool(scheme.issuer_url)
        and _lacks_address(scheme.flows)
    )


async def complete_scheme(scheme: AuthScheme) -> AuthScheme:
    """Return the scheme with its endpoints, or unchanged if nothing was to be found or answered.

    An answer is kept for an hour.
    """
    if not needs_discovery(scheme):
        return scheme
    manager = OAuth2DiscoveryManager()
    if isinstance(scheme, OpenIdConnect):
        address = scheme.openIdConnectUrl
        found = _read_cache(address)
        if found is None:
            told = await manager.fetch_document(address, _OpenIdMetadata)
            # Providers of many tenants publish one document for all of them, so the issuer's path
            # may differ from the document's. Its origin may not.
            if told is not None and not has_origin_of(told.issuer, address):
                _log.warning(
                    "The document at %s is of an issuer elsewhere; it is not used.",
                    public_address(address),
                )
                told = None
            found = _remember(address, told)
        return _open_id_scheme(scheme, found) if found else scheme
    if isinstance(scheme, ExtendedOAuth2) and scheme.issuer_url:
        issuer = scheme.issuer_url
        found = _read_cache(issuer) or _remember(
            issuer, await manager.discover_auth_server_metadata(issuer)
        )
        return _fill_endpoints(scheme, found) if found else scheme
    return scheme


def _lacks_address(flows: OAuthFlows) -> bool:
    addresses = [
        getattr(flow, name)
        for flow in (flows.implicit, flows.authorizationCode, flows.clientCredentials)
        for name in ("authorizationUrl", "tokenUrl")
        if flow is not None and hasattr(flow, name)
    ]
    return not all(addresses)


def _read_cache(address: str) -> AuthorizationServerMetadata | None:
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


def _fill_endpoints(scheme: ExtendedOAuth2, found: AuthorizationServerMetadata) -> ExtendedOAuth2:
    whole = scheme.model_copy(deep=True)
    for flow in (whole.flows.implicit, whole.flows.authorizationCode):
        if flow is not None:
            flow.authorizationUrl = flow.authorizationUrl or found.authorization_endpoint
    for flow in (whole.flows.authorizationCode, whole.flows.clientCredentials):
        if flow is not None:
            flow.tokenUrl = flow.tokenUrl or found.token_endpoint
    return whole
