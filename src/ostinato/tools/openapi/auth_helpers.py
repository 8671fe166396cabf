"""Security schemes and credentials for REST tools: made of keys, tokens, accounts and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError

from ..._optional import need
from ...auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
    ServiceAccountCredential,
)
from ...auth.auth_schemes import (
    APIKey,
    APIKeyIn,
    AuthScheme,
    HTTPBase,
    HTTPBearer,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
    SecuritySchemeType,
    as_scheme,
)
from ...auth.credential_headers import credential_headers
from ...errors import AgentConfigError
from .api_parameter import ApiParameter
from .spec_record import Schema

INTERNAL_AUTH_PREFIX = "_auth_prefix_vaf_"
_SCHEMES: dict[str, type[BaseModel]] = {
    "apiKey": APIKey,
    "http": HTTPBase,
    "oauth2": OAuth2,
    "openIdConnect": OpenIdConnect,
}
_DISCOVERY_SECONDS = 10


class OpenIdConfig(BaseModel):
    """The settings of an OpenID Connect client."""

    client_id: str
    auth_uri: str
    token_uri: str
    client_secret: str
    redirect_uri: str | None


def token_to_scheme_credential(
    token_type: Literal["apikey", "oauth2Token"],
    location: Literal["header", "query", "cookie"] | None = None,
    name: str | None = None,
    credential_value: str | None = None,
) -> tuple[AuthScheme, AuthCredential | None]:
    """Return the scheme and the credential of an API key or a bearer token.

    Args:
      token_type: which of the two.
      location: where an API key is sent; a token is always sent in the header Authorization.
      name: name of that header, query parameter or cookie.
      credential_value: the key or token; without one the credential is None.

    Raises:
      ValueError: unknown type or location.
    """
    if token_type == "apikey":
        if location not in APIKeyIn.__members__:
            raise ValueError(f"Invalid location for apiKey: {location}")
        scheme = APIKey.model_validate({"in": location, "name": name})
        if not credential_value:
            return scheme, None
        return scheme, AuthCredential(
            auth_type=AuthCredentialTypes.API_KEY, api_key=credential_value
        )
    if token_type != "oauth2Token":
        raise ValueError(f"Invalid security scheme type: {token_type}")
    bearer = HTTPBearer(bearerFormat="JWT")
    return bearer, bearer_credential(credential_value) if credential_value else None


def service_account_dict_to_scheme_credential(
    config: dict[str, Any], scopes: list[str]
) -> tuple[AuthScheme, AuthCredential]:
    """Return the scheme and the credential of a Google service account.

    Args:
      config: the content of its key file.
      scopes: what to ask for.
    """
    key = ServiceAccountCredential.model_construct(**config)
    return service_account_scheme_credential(
        ServiceAccount(service_account_credential=key, scopes=scopes)
    )


def service_account_scheme_credential(config: ServiceAccount) -> tuple[AuthScheme, AuthCredential]:
    """Return the scheme and the credential of a Google service account."""
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.SERVICE_ACCOUNT, service_account=config
    )
    return HTTPBearer(bearerFormat="JWT"), credential


def openid_dict_to_scheme_credential(
    config_dict: dict[str, Any], scopes: list[str], credential_dict: dict[str, Any]
) -> tuple[OpenIdConnectWithConfig, AuthCredential]:
    """Return the scheme and the credential of an OpenID Connect client.

    Args:
      config_dict: the provider's configuration, with `authorization_endpoint` and
        `token_endpoint`.
      scopes: what to ask for.
      credential_dict: `client_id` and `client_secret`, perhaps `redirect_uri`; or Google's file of
        an OAuth client, which has these one level deeper.

    Raises:
      ValueError: something is missing or wrong.
    """
    try:
        scheme = OpenIdConnectWithConfig.model_validate(
            {"openIdConnectUrl": "", **config_dict, "scopes": scopes}
        )
    except ValidationError as error:
        raise ValueError(f"Invalid OpenID Connect configuration: {error}") from error
    client: Mapping[str, Any] = credential_dict
    if len(client) == 1:
        inner: Any = next(iter(client.values()))
        if isinstance(inner, dict) and {"client_id", "client_secret"} <= inner.keys():
            client = cast("dict[str, Any]", inner)
    missing = [name for name in ("client_id", "client_secret") if name not in client]
    if missing:
        raise ValueError(f"Missing required fields in credential_dict: {', '.join(missing)}")
    oauth2 = OAuth2Auth(
        client_id=client["client_id"],
        client_secret=client["client_secret"],
        redirect_uri=client.get("redirect_uri"),
    )
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.OPEN_ID_CONNECT, oauth2=oauth2)


def openid_url_to_scheme_credential(
    openid_url: str, scopes: list[str], credential_dict: dict[str, Any]
) -> tuple[OpenIdConnectWithConfig, AuthCredential]:
    """Return the scheme and the credential of an OpenID Connect client; it blocks.

    Args:
      openid_url: address of the provider's discovery document.
      scopes: what to ask for.
      credential_dict: as for `openid_dict_to_scheme_credential`.

    Raises:
      ValueError: the document cannot be fetched, or something is missing or wrong.
    """
    httpx2 = need("httpx2")
    try:
        answer = httpx2.get(openid_url, timeout=_DISCOVERY_SECONDS)
        answer.raise_for_status()
        config = answer.json()
    except httpx2.HTTPError as error:
        raise ValueError(
            f"Failed to fetch OpenID configuration from {openid_url}: {error}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"Invalid JSON response from OpenID configuration endpoint {openid_url}: {error}"
        ) from error
    return openid_dict_to_scheme_credential(
        {**config, "openIdConnectUrl": openid_url}, scopes, credential_dict
    )


def credential_to_param(
    auth_scheme: AuthScheme, auth_credential: AuthCredential | None
) -> tuple[ApiParameter | None, dict[str, Any] | None]:
    """Return a credential as a parameter of the request, and its value by the parameter's name.

    Args:
      auth_scheme: how the service authenticates.
      auth_credential: the credential, ready for use.

    Returns:
      The parameter and a dict with its value; None and None if there is nothing to send.

    Raises:
      ValueError: the credential does not fit the scheme.
    """
    if auth_credential is None:
        return None, None
    auth_scheme = as_scheme(auth_scheme)
    if isinstance(auth_scheme, APIKey) and auth_credential.api_key:
        return _make_parameter(
            auth_scheme.name, auth_scheme.in_.value, auth_credential.api_key, auth_scheme
        )
    kind = auth_credential.auth_type
    needs_token = auth_scheme.type_ in (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)
    if kind is not AuthCredentialTypes.HTTP and not needs_token:
        raise ValueError(
            f"A credential of type {kind.value!r} does not fit the security scheme "
            f"{type(auth_scheme).__name__}."
        )
    if auth_credential.http is None:
        if kind is AuthCredentialTypes.HTTP:
            raise ValueError("Invalid HTTP auth credentials")
        return None, None
    try:
        headers = credential_headers(auth_credential, HTTPBase(scheme="bearer"))
    except AgentConfigError as error:
        raise ValueError(str(error)) from error
    if "Authorization" not in headers:
        raise ValueError("Invalid HTTP auth credentials")
    return _make_parameter("Authorization", "header", headers["Authorization"], auth_scheme)


def check_credential(name: str, auth_scheme: AuthScheme, credential: AuthCredential) -> None:
    """Refuse a credential of another kind than a scheme of the document needs.

    Args:
      name: the scheme's name, for the message.
      auth_scheme: how the service authenticates.
      credential: what the developer gave for it, before it is exchanged for a token.

    Raises:
      AgentConfigError: it would not be sent, or not in the scheme's form.
    """
    takes_key = isinstance(auth_scheme, APIKey)
    fits = takes_key == (credential.auth_type is AuthCredentialTypes.API_KEY)
    needed = "an API key" if takes_key else "a credential of another type"
    if isinstance(auth_scheme, HTTPBase):
        needed = f"an HTTP credential of the scheme {auth_scheme.scheme!r}"
        given = credential.http
        if given is not None and given.scheme.lower() != auth_scheme.scheme.lower():
            fits = False
        if given is not None and given.credentials.username is not None:
            # Of the schemes that take a password, only Basic is sent.
            fits = fits and auth_scheme.scheme.lower() == "basic"
    if not fits:
        given_kind = credential.auth_type.value
        if credential.http is not None:
            given_kind = f"{given_kind} {credential.http.scheme}"
        raise AgentConfigError(
            f"auth_credentials[{name!r}] has the type {given_kind!r}, but the security scheme "
            f"needs {needed}."
        )


def place_of(auth_scheme: AuthScheme) -> tuple[str, str]:
    """Return where a credential is sent: the location, and the name in lower case."""
    if isinstance(auth_scheme, APIKey):
        return auth_scheme.in_.value, auth_scheme.name.lower()
    return "header", "authorization"


def dict_to_auth_scheme(data: Mapping[str, Any]) -> AuthScheme:
    """Return a security scheme of a document as a record.

    Args:
      data: the scheme's JSON.

    Raises:
      ValueError: its type is missing or unknown, or a field is missing or wrong.
    """
    if "type" not in data:
        raise ValueError("Missing 'type' field in security scheme dictionary.")
    kind: Any = _SCHEMES.get(data["type"])
    if kind is None:
        raise ValueError(f"Invalid security scheme type: {data['type']}")
    if data.get("scheme") == "bearer" and kind is HTTPBase:
        kind = HTTPBearer
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise ValueError(f"Invalid security scheme data: {error}") from error


def bearer_credential(token: str) -> AuthCredential:
    """Return a credential that sends a bearer token."""
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token)),
    )


def _make_parameter(
    name: str, location: str, value: str, scheme: AuthScheme
) -> tuple[ApiParameter, dict[str, Any]]:
    parameter = ApiParameter(
        original_name=name,
        param_location=location,
        param_schema=Schema(type="string"),
        description=getattr(scheme, "description", None) or "",
        py_name=INTERNAL_AUTH_PREFIX + name,
    )
    return parameter, {INTERNAL_AUTH_PREFIX + name: value}
