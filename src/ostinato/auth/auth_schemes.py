"""How a service wants to be authenticated: the OpenAPI 3 security schemes, and two of our own.

The JSON and the field names (camelCase ones included) are OpenAPI's, so that objects of other
OpenAPI libraries are accepted through their attributes and no web framework is needed here.
"""

from enum import Enum
from functools import cache
from typing import Any, Literal, Optional, Union, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ostinato.auth._record import BaseModelWithConfig


class _OpenApiWord(Enum):
    @classmethod
    def _missing_(cls, value: object) -> Optional["_OpenApiWord"]:
        # The same word of another library's enumeration.
        words = cls.__members__.values()
        foreign = value.value if isinstance(value, Enum) else None
        return next((word for word in words if word.value == foreign), None)


class SecuritySchemeType(_OpenApiWord):
    """OpenAPI's kinds of security schemes."""

    apiKey = "apiKey"
    http = "http"
    oauth2 = "oauth2"
    openIdConnect = "openIdConnect"


AuthSchemeType = SecuritySchemeType


class APIKeyIn(_OpenApiWord):
    """Where an API key travels."""

    query = "query"
    header = "header"
    cookie = "cookie"


class _OpenApiRecord(BaseModel):
    """Field names are the JSON names here, so no alias generator."""

    model_config = ConfigDict(
        extra="allow", populate_by_name=True, from_attributes=True, defer_build=True
    )

    def __eq__(self, other: object) -> bool:
        """Return whether a record, also of another OpenAPI library, has the same class and JSON."""
        if not isinstance(other, BaseModel) or isinstance(other, _OpenApiRecord):
            return super().__eq__(other)
        if type(other).__name__ != type(self).__name__:
            return False
        mine, theirs = (
            one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (self, other)
        )
        return mine == theirs


class SecurityBase(_OpenApiRecord):
    """What every OpenAPI security scheme has."""

    type_: SecuritySchemeType = Field(alias="type")
    description: Optional[str] = None


class APIKey(SecurityBase):
    """A key called `name` in a header, the query or a cookie (`in_`, JSON `in`)."""

    type_: SecuritySchemeType = Field(default=SecuritySchemeType.apiKey, alias="type")
    in_: APIKeyIn = Field(alias="in")
    name: str


class HTTPBase(SecurityBase):
    """HTTP authentication with a named scheme, such as `basic`."""

    type_: SecuritySchemeType = Field(default=SecuritySchemeType.http, alias="type")
    scheme: str


class HTTPBearer(HTTPBase):
    """HTTP authentication with a bearer token."""

    scheme: Literal["bearer"] = "bearer"  # pyright: ignore[reportIncompatibleVariableOverride]
    bearerFormat: Optional[str] = None


class OAuthFlow(_OpenApiRecord):
    """What every OAuth2 flow has; `scopes` maps a scope to its description."""

    refreshUrl: Optional[str] = None
    scopes: dict[str, str] = Field(default_factory=dict)


class OAuthFlowImplicit(OAuthFlow):
    """The implicit flow."""

    authorizationUrl: str


class OAuthFlowPassword(OAuthFlow):
    """The resource owner's password flow."""

    tokenUrl: str


class OAuthFlowClientCredentials(OAuthFlow):
    """The client credentials flow: no user takes part."""

    tokenUrl: str


class OAuthFlowAuthorizationCode(OAuthFlow):
    """The authorization code flow."""

    authorizationUrl: str
    tokenUrl: str


class OAuthFlows(_OpenApiRecord):
    """The flows that an OAuth2 service offers."""

    implicit: Optional[OAuthFlowImplicit] = None
    password: Optional[OAuthFlowPassword] = None
    clientCredentials: Optional[OAuthFlowClientCredentials] = None
    authorizationCode: Optional[OAuthFlowAuthorizationCode] = None


class OAuth2(SecurityBase):
    """OAuth2 with its flows."""

    type_: SecuritySchemeType = Field(default=SecuritySchemeType.oauth2, alias="type")
    flows: OAuthFlows


class OpenIdConnect(SecurityBase):
    """OpenID Connect, found through its discovery document."""

    type_: SecuritySchemeType = Field(default=SecuritySchemeType.openIdConnect, alias="type")
    openIdConnectUrl: str


SecurityScheme = Union[APIKey, HTTPBase, OAuth2, OpenIdConnect, HTTPBearer]


class OpenIdConnectWithConfig(SecurityBase):
    """OpenID Connect whose endpoints are written out instead of discovered."""

    type_: SecuritySchemeType = Field(default=SecuritySchemeType.openIdConnect, alias="type")
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: Optional[str] = None
    revocation_endpoint: Optional[str] = None
    token_endpoint_auth_methods_supported: Optional[list[str]] = None
    grant_types_supported: Optional[list[str]] = None
    scopes: Optional[list[str]] = None


class ExtendedOAuth2(OAuth2):
    """OAuth2 whose endpoints may be discovered from `issuer_url`."""

    issuer_url: Optional[str] = None


class CustomAuthScheme(BaseModelWithConfig):
    """A scheme of the user's own. A subclass gives `type_` a default and adds its fields."""

    type_: str = Field(alias="type")


AuthScheme = Union[SecurityScheme, OpenIdConnectWithConfig, CustomAuthScheme]


def as_scheme(scheme: Any) -> AuthScheme:
    """Return a scheme of another OpenAPI library, such as FastAPI's, as a scheme of Ostinato's.

    Raises:
        ValidationError: `scheme` is not a security scheme.
    """
    if isinstance(scheme, (SecurityBase, CustomAuthScheme)):
        return cast(AuthScheme, scheme)
    return _adapter().validate_python(scheme, from_attributes=True)


@cache
def _adapter() -> TypeAdapter[AuthScheme]:
    return TypeAdapter(AuthScheme)


class OAuthGrantType(str, Enum):  # noqa: UP042 - str() of a StrEnum differs
    """The grant that an OAuth2 flow uses."""

    CLIENT_CREDENTIALS = "client_credentials"
    AUTHORIZATION_CODE = "authorization_code"
    IMPLICIT = "implicit"
    PASSWORD = "password"

    @staticmethod
    def from_flow(flow: OAuthFlows) -> Optional["OAuthGrantType"]:
        """Return the grant of the flow that is set.

        Where several are set, client credentials win, then authorization code, implicit and
        password. None if no flow is set.
        """
        by_strength = (
            (flow.clientCredentials, OAuthGrantType.CLIENT_CREDENTIALS),
            (flow.authorizationCode, OAuthGrantType.AUTHORIZATION_CODE),
            (flow.implicit, OAuthGrantType.IMPLICIT),
            (flow.password, OAuthGrantType.PASSWORD),
        )
        return next((grant for present, grant in by_strength if present), None)
