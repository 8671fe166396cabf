"""Requests to a token endpoint for tokens; errors hold no secrets.

Neither the request nor the server's text gets into an error: a server may echo what it was sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from ostinato._bounded_body import read_body
from ostinato._optional import need

TIMEOUT_SECONDS = 20.0
MAX_BYTES = 1_000_000

EXTRA = "auth"

# The codes of RFC 6749 §5.2 and RFC 8693 that a user mends by consenting anew.
_USERS = frozenset(("invalid_grant", "access_denied", "consent_required", "login_required"))
_KNOWN = _USERS | {
    "invalid_client",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "server_error",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_grant_type",
}
_REMEDIES = {
    "invalid_client": "Check the client's id and secret and token_endpoint_auth_method.",
    "unauthorized_client": "Allow this grant for the client at the provider.",
    "invalid_scope": "Check the scheme's scopes.",
}


class TokenEndpointError(Exception):
    """A token was not granted.

    Attributes:
        refused: the server turned down what the user had given.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


async def ask_for_token(session: Any, endpoint: str, **grant: str) -> dict[str, Any]:
    """Ask a token endpoint for a token.

    Args:
        session: authlib's client, which authenticates itself and is closed here; or an HTTP client.
        endpoint: address of the token endpoint.
        grant: the form's fields; `grant_type` among them.

    Returns:
        The server's answer, with an `access_token` or `id_token`.

    Raises:
        TokenEndpointError: it was refused, failed, took too long or was no token, or the endpoint
            is not https.
    """
    http = need("httpx2", extra=EXTRA)
    place = public_address(endpoint)
    if not is_confidential(endpoint):
        await session.aclose()
        raise TokenEndpointError(
            f"The token endpoint {place!r} is not https, so the client's secret and the tokens "
            "could be read on the way. Give its https address; http is for the loopback only."
        )
    headers = {"Accept": "application/json"}
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), session:
            async with session.stream(
                "POST", endpoint, data=grant, headers=headers, **_identity(session)
            ) as response:
                status: int = response.status_code
                body = await _read(response, place)
    except (TimeoutError, http.TimeoutException):
        raise _slow(place) from None
    except http.HTTPError as error:
        raise TokenEndpointError(
            f"{place} could not be reached ({type(error).__name__}). Check the address and the "
            "network, and try again."
        ) from None
    except http.InvalidURL:
        raise TokenEndpointError(f"The token endpoint {place!r} is no address.") from None
    return _read_answer(body, status, place)


def is_confidential(address: str) -> bool:
    """Return whether an address is https, or http on this machine's loopback.

    False for an address with a user name, a password or a backslash: its host is not certain.
    """
    try:
        split = urlsplit(address)
        host = split.hostname or ""
    except ValueError:
        return False
    # HTTP clients read a backslash as a slash, so they may ask another host than this one.
    if "\\" in address or split.username is not None or split.password is not None:
        return False
    if split.scheme != "http":
        return split.scheme == "https" and bool(host)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def public_address(address: str) -> str:
    """Return an address without user, password, query and fragment, for messages."""
    try:
        split = urlsplit(address)
        port = f":{split.port}" if split.port else ""
    except ValueError:
        return "(not an address)"
    return f"{split.scheme}://{split.hostname or ''}{port}{split.path}"


def _identity(session: Any) -> dict[str, Any]:
    """Return the options that identify the client in a request; authlib's client needs some.

    authlib sends an access token, which does not exist yet, unless told to withhold it.
    """
    if not hasattr(session, "client_auth"):
        return {}
    method = session.token_endpoint_auth_method
    return {"withhold_token": True, "auth": session.client_auth(method)}


def _slow(place: str) -> TokenEndpointError:
    return TokenEndpointError(
        f"{place} gave no answer within {TIMEOUT_SECONDS:g} s. Try again later."
    )


async def _read(response: Any, place: str) -> bytes:
    body = await read_body(response, MAX_BYTES)
    if len(body) > MAX_BYTES:
        raise TokenEndpointError(
            f"{place} answered with more than {MAX_BYTES} bytes, which is no token. Check that "
            "it is the token endpoint."
        )
    return body


def _read_answer(body: bytes, status: int, place: str) -> dict[str, Any]:
    try:
        answer: Any = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, Mapping):
        raise TokenEndpointError(
            f"{place} answered with HTTP {status} and no JSON object. Check that it is the token "
            "endpoint."
        )
    tokens = dict(cast("Mapping[str, Any]", answer))
    if "error" in tokens or status >= 400:
        raise _refusal(tokens.get("error"), status, place)
    if not any(isinstance(tokens.get(name), str) for name in ("access_token", "id_token")):
        raise TokenEndpointError(
            f"{place} answered with HTTP {status} and no token. Check that it is the token "
            "endpoint."
        )
    return tokens


def _refusal(code: Any, status: int, place: str) -> TokenEndpointError:
    known = code if isinstance(code, str) and code in _KNOWN else None
    said = f"HTTP {status}" + (f" and {known!r}" if known else "")
    refused = known in _USERS
    remedy = "Consent is needed again." if refused else _REMEDIES.get(known or "", "")
    return TokenEndpointError(f"{place} answered with {said}. {remedy}".rstrip(), refused=refused)
