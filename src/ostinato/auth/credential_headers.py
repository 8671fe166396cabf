"""The HTTP headers that carry a credential; agents and tools that send requests ask here."""

from __future__ import annotations

import base64

from ostinato.auth.auth_credential import AuthCredential, HttpAuth
from ostinato.auth.auth_schemes import APIKey, APIKeyIn, AuthScheme
from ostinato.errors import AgentConfigError


def credential_headers(credential: AuthCredential, scheme: AuthScheme) -> dict[str, str]:
    """Return the headers to send with a request.

    Args:
        credential: the credential, ready for use.
        scheme: how the service authenticates.

    Raises:
        AgentConfigError: the credential holds nothing that a header of this scheme can carry.
    """
    if isinstance(scheme, APIKey):
        return _key_headers(credential, scheme)
    if credential.http is not None:
        return {**_authorization(credential.http), **(credential.http.additional_headers or {})}
    token = credential.oauth2 and (credential.oauth2.access_token or credential.oauth2.id_token)
    if token:
        return {"Authorization": f"Bearer {token}"}
    raise AgentConfigError(
        f"A credential of type {credential.auth_type.value} holds no token or password for an "
        "HTTP header. Give it in the field http or oauth2."
    )


def _key_headers(credential: AuthCredential, scheme: APIKey) -> dict[str, str]:
    if not credential.api_key:
        raise AgentConfigError(
            f"The API key {scheme.name!r} is missing: give it as api_key in the credential."
        )
    if scheme.in_ is APIKeyIn.header:
        return {scheme.name: credential.api_key}
    if scheme.in_ is APIKeyIn.cookie:
        return {"Cookie": f"{scheme.name}={credential.api_key}"}
    raise AgentConfigError(
        f"The API key {scheme.name!r} goes into the query, where logs would keep it. Use a scheme "
        "with the key in a header."
    )


def _authorization(http: HttpAuth) -> dict[str, str]:
    given = http.credentials
    if http.scheme.lower() == "basic" and given.username is not None:
        pair = f"{given.username}:{given.password or ''}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if given.token is None:
        return {}
    name = "Bearer" if http.scheme.lower() == "bearer" else http.scheme
    return {"Authorization": f"{name} {given.token}"}
