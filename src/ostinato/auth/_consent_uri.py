"""Builds the address at which a user grants an OAuth2 client access (RFC 6749 §4.1.1, RFC 7636).

The authentication handler calls it. It needs no OAuth library: it is one address with a query.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
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
    """Return the scheme's authorization endpoint and its scopes.

    Raises:
        InputValidationError: the scheme has no such endpoint, or no user takes part in its flow.
    """
    if isinstance(scheme, OpenIdConnectWithConfig):
        return scheme.authorization_endpoint, list(scheme.scopes or ())
    if not isinstance(scheme, OAuth2):
        raise InputValidationError(
            f"A scheme of type {type(scheme).__name__} does not say where consent is asked for, "
            "and its discovery document could not be had. Use OpenIdConnectWithConfig with its "
            "authorization_endpoint and token_endpoint, or give oauth2.auth_uri yourself."
        )
    flow = scheme.flows.implicit or scheme.flows.authorizationCode
    if flow and flow.authorizationUrl:
        return flow.authorizationUrl, list(flow.scopes)
    if scheme.flows.clientCredentials or scheme.flows.password:
        raise InputValidationError(
            "The client credentials and password flows ask no user for consent. With client "
            "credentials, wrap the function in AuthenticatedFunctionTool, or call "
            "CredentialManager(auth_config).get_auth_credential(tool_context), which fetch the "
            "token; the password flow is not supported."
        )
    raise InputValidationError(
        "The OAuth2 scheme has no flow. Give flows.authorizationCode with authorizationUrl and "
        "tokenUrl, or ExtendedOAuth2 with the issuer_url of a server that publishes them."
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
        credential.code_verifier = credential.code_verifier or derive_verifier(credential)
        query["code_challenge"] = _challenge(credential.code_verifier)
        query["code_challenge_method"] = method
    credential.auth_uri = _with_query(endpoint, {key: text for key, text in query.items() if text})


def derive_verifier(credential: OAuth2Auth) -> str:
    """Return the PKCE verifier of a request, from its `state` and the client's secret.

    It is neither stored nor sent: a process that knows the secret derives it again when the answer
    comes, also after a restart. No other process can.
    """
    key = (credential.client_secret or "").encode()
    digest = hmac.digest(key, f"pkce verifier {credential.state}".encode(), "sha512")
    return base64.urlsafe_b64encode(digest).decode("ascii")[:_VERIFIER_LENGTH]


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
