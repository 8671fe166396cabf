"""OAuth2 with authlib: clients for a scheme's token endpoint, and tokens put into a credential.

The OAuth2 exchanger and refresher call it. authlib is loaded when the first client is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ostinato._clock import now
from ostinato._log import get_logger
from ostinato._optional import need
from ostinato.auth.auth_credential import AuthCredential, OAuth2Auth
from ostinato.auth.auth_schemes import (
    AuthScheme,
    OAuth2,
    OAuthFlow,
    OpenIdConnectWithConfig,
    as_scheme,
)

_log = get_logger(__name__)

EXTRA = "auth"
AUTHLIB_AVAILABLE = find_spec("authlib") is not None
# A token this close to its end may be dead when the request that carries it arrives.
_LEEWAY_SECONDS = 60


def create_oauth2_session(
    auth_scheme: AuthScheme, auth_credential: AuthCredential
) -> tuple[Any | None, str | None]:
    """Return an authlib client for the scheme's token endpoint, and the endpoint's address.

    Args:
        auth_scheme: OAuth2 with an authorization code or client credentials flow, or OpenID
            Connect with its endpoints; of this package or of another OpenAPI library.
        auth_credential: client id and secret, and how the client shows them.

    Returns:
        An `OAuth2Client`, whose methods block and send no scope, and the address; (None, None)
        where the scheme has no token endpoint or the credential no client.

    Raises:
        MissingExtraError: authlib is not installed.
    """
    return _make_client("OAuth2Client", auth_scheme, auth_credential)


def create_async_client(
    auth_scheme: AuthScheme, auth_credential: AuthCredential
) -> tuple[Any | None, str | None]:
    """Return what `create_oauth2_session` does, with a client whose methods are awaited."""
    return _make_client("AsyncOAuth2Client", auth_scheme, auth_credential)


def _make_client(
    class_name: str, auth_scheme: AuthScheme, auth_credential: AuthCredential
) -> tuple[Any | None, str | None]:
    scheme = as_scheme(auth_scheme)
    endpoint = token_endpoint(scheme)
    oauth2 = auth_credential.oauth2
    if endpoint is None:
        kind = scheme.type_
        name = kind if isinstance(kind, str) else kind.value
        _log.warning(
            "A scheme of type %s and class %s has no token endpoint: give flows.authorizationCode "
            "or flows.clientCredentials with a tokenUrl, or OpenIdConnectWithConfig.",
            name,
            type(scheme).__name__,
        )
        return None, None
    if oauth2 is None or not (oauth2.client_id and oauth2.client_secret):
        return None, None
    return _client(class_name, oauth2, endpoint), endpoint


def token_endpoint(auth_scheme: AuthScheme) -> str | None:
    """Return the token endpoint of a scheme, or None if the scheme does not name one."""
    if isinstance(auth_scheme, OpenIdConnectWithConfig):
        return getattr(auth_scheme, "token_endpoint", None) or None
    flow = _token_flow(auth_scheme)
    return getattr(flow, "tokenUrl", None) or None


def scopes_of(auth_scheme: AuthScheme) -> list[str]:
    """Return the scopes that the scheme asks for."""
    if isinstance(auth_scheme, OpenIdConnectWithConfig):
        return list(auth_scheme.scopes or ())
    flow = _token_flow(auth_scheme)
    return list(flow.scopes) if flow else []


def has_expired(credential: AuthCredential, leeway: int = _LEEWAY_SECONDS) -> bool:
    """Return whether the access token is past its time, or `leeway` seconds or less before it."""
    expires_at = credential.oauth2.expires_at if credential.oauth2 else None
    return expires_at is not None and expires_at - leeway <= now()


def update_credential_with_tokens(
    auth_credential: AuthCredential, tokens: Mapping[str, Any]
) -> None:
    """Write a token endpoint's answer into a credential, in place.

    A refresh or id token that the answer does not hold stays. The expiry is `expires_in` seconds
    from now, or the answer's `expires_at`; or None if it has neither.
    """
    oauth2 = auth_credential.oauth2
    if oauth2 is None:
        return
    oauth2.access_token = _text(tokens, "access_token")
    oauth2.refresh_token = _text(tokens, "refresh_token") or oauth2.refresh_token
    oauth2.id_token = _text(tokens, "id_token") or oauth2.id_token
    oauth2.expires_in = _seconds(tokens, "expires_in")
    oauth2.expires_at = (
        _seconds(tokens, "expires_at")
        if oauth2.expires_in is None
        else int(now()) + oauth2.expires_in
    )


def _token_flow(scheme: AuthScheme) -> OAuthFlow | None:
    if not isinstance(scheme, OAuth2):
        return None
    return scheme.flows.clientCredentials or scheme.flows.authorizationCode


def _client(class_name: str, oauth2: OAuth2Auth, endpoint: str) -> Any:
    library = need("authlib.integrations.httpx_client", extra=EXTRA)
    method = oauth2.token_endpoint_auth_method or "client_secret_basic"
    client = getattr(library, class_name)(
        client_id=oauth2.client_id,
        client_secret=oauth2.client_secret,
        redirect_uri=oauth2.redirect_uri,
        state=oauth2.state,
        token_endpoint_auth_method=method,
        code_challenge_method=oauth2.code_challenge_method,
    )
    if method in ("client_secret_jwt", "private_key_jwt"):
        assertions = need("authlib.oauth2.rfc7523", extra=EXTRA)
        kind = "ClientSecretJWT" if method == "client_secret_jwt" else "PrivateKeyJWT"
        client.register_client_auth_method(getattr(assertions, kind)(endpoint))
    return client


def _text(tokens: Mapping[str, Any], name: str) -> str | None:
    value = tokens.get(name)
    return value if isinstance(value, str) else None


def _seconds(tokens: Mapping[str, Any], name: str) -> int | None:
    """Return a number of seconds; servers send it as a number or as text."""
    try:
        return int(tokens[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
