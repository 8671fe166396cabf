"""Builds the address at which a user grants an OAuth2 client access (RFC 6749 §4.1.1, RFC 7636).

The authentication handler calls it. It needs no OAuth library: it is one address with a query.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import string
from urllib.parse import urlencode, urlsplit, urlunsplit

from ostinato.auth.auth_credential import OAuth2Auth
from ostinato.auth.auth_schemes import AuthScheme, OAuth2, OpenIdConnectWithConfig
from ostinato.errors import InputValidationError

_ALPHABET = string.ascii_letters + string.digits
_STATE_LENGTH = 30
_VERIFIER_LENGTH = 48  # RFC 7636 wants 43 to 128 characters.


def find_endpoint(scheme: AuthScheme) -> tuple[str, list[str]]:
    """The scheme's authorization endpoint and its scopes.

    Raises:
        NotImplementedError: the endpoint has to be discovered, or the flow has no consent step and
            would need a token exchange at once.
        InputValidationError: the scheme has no flow at all.
    """
    if isinstance(scheme, OpenIdConnectWithConfig):
        return scheme.authorization_endpoint, list(scheme.scopes or ())
    if not isinstance(scheme, OAuth2):
        raise NotImplementedError(
            f"A scheme of type {type(scheme).__name__} does not say where consent is asked for, "
            "and discovery of endpoints is not built yet. Use OpenIdConnectWithConfig with its "
            "authorization_endpoint and token_endpoint, or give oauth2.auth_uri yourself."
        )
    flow = scheme.flows.implicit or scheme.flows.authorizationCode
    if flow:
        return flow.authorizationUrl, list(flow.scopes)
    if scheme.flows.clientCredentials or scheme.flows.password:
        raise NotImplementedError(
            "The client credentials and password flows ask no user for consent; they exchange the "
            "client's secret for a token, and credential exchange is not built yet. Fetch the "
            "token yourself and pass it as oauth2.access_token in exchanged_auth_credential."
        )
    raise InputValidationError(
        "The OAuth2 scheme has no flow. Give flows.authorizationCode with authorizationUrl and "
        "tokenUrl."
    )


def add_consent_request(credential: OAuth2Auth, endpoint: str, scopes: list[str]) -> None:
    """Write `auth_uri`, a fresh `state` and, with PKCE, a `code_verifier` into the credential.

    Raises:
        InputValidationError: `code_challenge_method` is neither None nor `S256`.
    """
    method = credential.code_challenge_method
    if method and method != "S256":
        raise InputValidationError(
            f"code_challenge_method {method!r} is not supported; use 'S256', or None for no PKCE."
        )
    credential.state = _random_text(_STATE_LENGTH)
    query = {
        "response_type": "code",
        "client_id": credential.client_id,
        "redirect_uri": credential.redirect_uri,
        "scope": " ".join(scopes),
        "state": credential.state,
        # So that a refresh token comes along, also when the user has consented before.
        "access_type": "offline",
        "prompt": "consent",
        "audience": credential.audience,
    }
    if method:
        credential.code_verifier = credential.code_verifier or _random_text(_VERIFIER_LENGTH)
        query["code_challenge"] = _challenge(credential.code_verifier)
        query["code_challenge_method"] = method
    credential.auth_uri = _with_query(endpoint, {key: text for key, text in query.items() if text})


def _with_query(address: str, query: dict[str, str]) -> str:
    split = urlsplit(address)
    both = "&".join(part for part in (split.query, urlencode(query)) if part)
    return urlunsplit(split._replace(query=both))


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _random_text(length: int) -> str:
    # Not the clock's ids: these are secrets, which a replay must not be able to foretell.
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
