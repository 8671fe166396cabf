"""Records of credentials: keys, tokens, client ids, accounts. They have no behaviour."""

from enum import Enum
from typing import Literal, Optional

from pydantic import Field, model_validator

from ostinato.auth._record import BaseModelWithConfig as BaseModelWithConfig


class HttpCredentials(BaseModelWithConfig):
    """What goes into an HTTP `Authorization` header: user and password, or a token."""

    username: Optional[str] = None
    password: Optional[str] = None
    token: Optional[str] = None


class HttpAuth(BaseModelWithConfig):
    """An HTTP credential with its scheme name (`basic`, `bearer`, ...).

    `additional_headers` are sent with it unchanged.
    """

    scheme: str
    credentials: HttpCredentials
    additional_headers: Optional[dict[str, str]] = None


class OAuth2Auth(BaseModelWithConfig):
    """An OAuth2 or OpenID Connect credential in any stage of its life.

    The client's identity comes from the developer, `auth_uri` and `state` from the request for
    consent, `auth_code` or `auth_response_uri` from the user's browser, and the tokens from the
    exchange. `expires_at` is in seconds since 1970, `expires_in` in seconds.
    """

    client_id: Optional[str] = None
    client_secret: Optional[str] = None
    auth_uri: Optional[str] = None
    nonce: Optional[str] = None
    state: Optional[str] = None
    redirect_uri: Optional[str] = None
    auth_response_uri: Optional[str] = None
    auth_code: Optional[str] = None
    access_token: Optional[str] = None
    refresh_token: Optional[str] = None
    id_token: Optional[str] = None
    expires_at: Optional[int] = None
    expires_in: Optional[int] = None
    audience: Optional[str] = None
    code_verifier: Optional[str] = None
    code_challenge_method: Optional[str] = None
    token_endpoint_auth_method: Optional[
        Literal["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"]
    ] = "client_secret_basic"


class ServiceAccountCredential(BaseModelWithConfig):
    """The key file of a Google service account, field by field."""

    type_: str = Field(default="", alias="type")
    project_id: str
    private_key_id: str
    private_key: str
    client_email: str
    client_id: str
    auth_uri: str
    token_uri: str
    auth_provider_x509_cert_url: str
    client_x509_cert_url: str
    universe_domain: str


class ServiceAccount(BaseModelWithConfig):
    """A service account: its key or the machine's default, and what token to ask for.

    Raises:
        ValueError: `use_id_token` without `audience`, or neither a key nor the default.
    """

    service_account_credential: Optional[ServiceAccountCredential] = None
    scopes: Optional[list[str]] = None
    use_default_credential: Optional[bool] = False
    use_id_token: Optional[bool] = False
    audience: Optional[str] = None

    @model_validator(mode="after")
    def _check_that_a_token_can_be_had(self) -> "ServiceAccount":
        if not self.use_default_credential and self.service_account_credential is None:
            raise ValueError(
                "A service account needs a key: set service_account_credential, or "
                "use_default_credential=True to take the machine's own identity."
            )
        if self.use_id_token and not self.audience:
            raise ValueError(
                "use_id_token=True needs an audience: set audience to the address of the "
                "service that is called, e.g. 'https://orders.example.com'."
            )
        return self


class AuthCredentialTypes(str, Enum):  # noqa: UP042 - str() of a StrEnum differs
    """Which part of an `AuthCredential` counts."""

    API_KEY = "apiKey"
    HTTP = "http"
    OAUTH2 = "oauth2"
    OPEN_ID_CONNECT = "openIdConnect"
    SERVICE_ACCOUNT = "serviceAccount"


class AuthCredential(BaseModelWithConfig):
    """One credential: `auth_type` says which of the other fields holds it.

    OAuth2 and OpenID Connect share the field `oauth2`. `resource_ref` names a secret kept
    elsewhere, for auth providers of your own; a CredentialManager refuses a credential that has
    nothing else.
    """

    auth_type: AuthCredentialTypes
    resource_ref: Optional[str] = None
    api_key: Optional[str] = None
    http: Optional[HttpAuth] = None
    service_account: Optional[ServiceAccount] = None
    oauth2: Optional[OAuth2Auth] = None
