"""Credentials of the tools that the model's service runs itself."""

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class ApiAuthApiKeyConfig(Record):
    """An API key, given or kept in a secret."""

    api_key_secret_version: str | None = None
    api_key_string: str | None = None


class ApiAuth(Record):
    """How to sign in to an external API."""

    api_key_config: ApiAuthApiKeyConfig | None = None


class HttpElementLocation(CaseInsensitiveEnum):
    """Where in an HTTP request a key is sent."""

    HTTP_IN_UNSPECIFIED = "HTTP_IN_UNSPECIFIED"
    HTTP_IN_QUERY = "HTTP_IN_QUERY"
    HTTP_IN_HEADER = "HTTP_IN_HEADER"
    HTTP_IN_PATH = "HTTP_IN_PATH"
    HTTP_IN_BODY = "HTTP_IN_BODY"
    HTTP_IN_COOKIE = "HTTP_IN_COOKIE"


class ApiKeyConfig(Record):
    """An API key and where it is sent."""

    api_key_secret: str | None = None
    api_key_string: str | None = None
    http_element_location: HttpElementLocation | None = None
    name: str | None = None


class AuthType(CaseInsensitiveEnum):
    """The kind of credential a tool uses."""

    AUTH_TYPE_UNSPECIFIED = "AUTH_TYPE_UNSPECIFIED"
    NO_AUTH = "NO_AUTH"
    API_KEY_AUTH = "API_KEY_AUTH"
    HTTP_BASIC_AUTH = "HTTP_BASIC_AUTH"
    GOOGLE_SERVICE_ACCOUNT_AUTH = "GOOGLE_SERVICE_ACCOUNT_AUTH"
    OAUTH = "OAUTH"
    OIDC_AUTH = "OIDC_AUTH"


class AuthConfigGoogleServiceAccountConfig(Record):
    """Signs in as a Google service account."""

    service_account: str | None = None


class AuthConfigHttpBasicAuthConfig(Record):
    """Signs in by HTTP basic authentication."""

    credential_secret: str | None = None


class AuthConfigOauthConfig(Record):
    """Signs in by OAuth."""

    access_token: str | None = None
    service_account: str | None = None


class AuthConfigOidcConfig(Record):
    """Signs in by OpenID Connect."""

    id_token: str | None = None
    service_account: str | None = None


class AuthConfig(Record):
    """The credential of a tool that the service runs."""

    api_key: str | None = None
    api_key_config: ApiKeyConfig | None = None
    auth_type: AuthType | None = None
    google_service_account_config: AuthConfigGoogleServiceAccountConfig | None = None
    http_basic_auth_config: AuthConfigHttpBasicAuthConfig | None = None
    oauth_config: AuthConfigOauthConfig | None = None
    oidc_config: AuthConfigOidcConfig | None = None
