"""The credential, scheme and confirmation records: JSON, keys, acceptance of foreign objects."""

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import ConfigDict, ValidationError, create_model

from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
)
from ostinato.auth.auth_schemes import (
    APIKey,
    APIKeyIn,
    CustomAuthScheme,
    ExtendedOAuth2,
    HTTPBase,
    HTTPBearer,
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlowClientCredentials,
    OAuthFlows,
    OAuthGrantType,
    OpenIdConnect,
    OpenIdConnectWithConfig,
    SecuritySchemeType,
)
from ostinato.auth.auth_tool import AuthConfig, AuthToolArguments
from ostinato.auth.tool_confirmation import ToolConfirmation

API_KEY: dict[str, Any] = {"type": "apiKey", "in": "header", "name": "X-Key"}
CODE_FLOW = OAuth2(
    flows=OAuthFlows(
        authorizationCode=OAuthFlowAuthorizationCode(
            authorizationUrl="https://a/auth",
            tokenUrl="https://a/tok",
            scopes={"s1": "d", "s2": "e"},
        )
    )
)


def client(**more: Any) -> AuthCredential:
    oauth2 = OAuth2Auth(client_id="cid", client_secret="sec", redirect_uri="https://r", **more)
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2)


def as_json(record: Any) -> str:
    return record.model_dump_json(by_alias=True, exclude_none=True)


# The keys are those under which google-adk 2.3.0 stores the same credentials.
KEYS: list[tuple[AuthConfig, str]] = [
    (AuthConfig(auth_scheme=APIKey(**API_KEY)), "adk_apiKey_9a46dad5a84303f3_"),
    (
        AuthConfig(
            auth_scheme=APIKey(**API_KEY),
            raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k"),
        ),
        "adk_apiKey_9a46dad5a84303f3_apiKey_39fdaa2147b3f2d1",
    ),
    (
        AuthConfig(auth_scheme=CODE_FLOW, raw_auth_credential=client()),
        "adk_oauth2_43a1a5f806f3b5cb_oauth2_5d6d9a23226018bc",
    ),
    (
        AuthConfig(auth_scheme=HTTPBearer(bearerFormat="JWT")),
        "adk_http_3e922d755264ee81_",
    ),
    (
        AuthConfig(auth_scheme=CustomAuthScheme(type="x", foo=1)),  # pyright: ignore[reportCallIssue]
        "adk_x_c432d16d2a54b09f_",
    ),
    (
        AuthConfig(
            auth_scheme=HTTPBase(scheme="basic", foo="z"),  # pyright: ignore[reportCallIssue]
            raw_auth_credential=AuthCredential(
                auth_type=AuthCredentialTypes.HTTP,
                http=HttpAuth(
                    scheme="basic",
                    credentials=HttpCredentials(username="u", password="p", more=1),  # pyright: ignore[reportCallIssue]
                ),
            ),
        ),
        "adk_http_fc8df715f5002444_http_651fa679ac6c6b22",
    ),
    (
        AuthConfig(
            auth_scheme=OpenIdConnectWithConfig(
                authorization_endpoint="https://a",
                token_endpoint="https://t",
                scopes=["openid"],
            ),
            raw_auth_credential=AuthCredential(
                auth_type=AuthCredentialTypes.OPEN_ID_CONNECT,
                oauth2=OAuth2Auth(client_id="c", client_secret="s"),
            ),
        ),
        "adk_openIdConnect_b9bf2974944069b3_openIdConnect_0fc9cd5146d7b0c2",
    ),
]


@pytest.mark.parametrize(("config", "key"), KEYS)
def test_key_is_the_one_adk_stores_under(config: AuthConfig, key: str) -> None:
    assert config.credential_key == key


@pytest.mark.parametrize(("config", "_key"), KEYS)
def test_config_survives_its_json(config: AuthConfig, _key: str) -> None:
    back = AuthConfig.model_validate_json(as_json(config))
    assert as_json(back) == as_json(config)
    assert type(back.auth_scheme) is type(config.auth_scheme)


def test_key_ignores_what_comes_and_goes() -> None:
    before = AuthConfig(auth_scheme=CODE_FLOW, raw_auth_credential=client())
    after = AuthConfig(
        auth_scheme=CODE_FLOW,
        raw_auth_credential=client(
            access_token="t", refresh_token="r", state="s", auth_uri="u", expires_at=1
        ),
    )
    other = AuthConfig(auth_scheme=CODE_FLOW, raw_auth_credential=client(audience="somebody else"))
    assert after.credential_key == before.credential_key
    assert other.credential_key != before.credential_key


def test_key_given_by_name_wins_over_extras_and_these_over_the_derived() -> None:
    scheme = APIKey.model_validate({**API_KEY, "credential_key": "of-scheme"})
    raw = AuthCredential.model_validate({"authType": "apiKey", "credentialKey": "of-raw"})
    assert AuthConfig(auth_scheme=scheme).credential_key == "of-scheme"
    assert AuthConfig(auth_scheme=scheme, raw_auth_credential=raw).credential_key == "of-raw"
    named = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw, credential_key="mine")
    assert named.credential_key == "mine"


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [
        ({"type": "http", "scheme": "bearer"}, HTTPBase),
        ({"type": "http", "scheme": "bearer", "bearerFormat": "J"}, HTTPBearer),
        ({"type": "oauth2", "flows": {}}, OAuth2),
        ({"type": "openIdConnect", "openIdConnectUrl": "u"}, OpenIdConnect),
        ({**API_KEY, "extra": 1}, APIKey),
        ({"type": "weird"}, CustomAuthScheme),
    ],
)
def test_scheme_is_told_by_its_json(scheme: dict[str, Any], kind: type) -> None:
    config = AuthConfig.model_validate({"authScheme": scheme})
    assert type(config.auth_scheme) is kind


def test_tool_arguments_json_is_camel_case() -> None:
    arguments = AuthToolArguments(
        function_call_id="fc-1",
        auth_config=AuthConfig(auth_scheme=APIKey(**API_KEY), credential_key="k"),
    )
    assert arguments.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "functionCallId": "fc-1",
        "authConfig": {"authScheme": API_KEY, "credentialKey": "k"},
    }


def test_fields_of_a_users_scheme_reach_the_client() -> None:
    class Signed(CustomAuthScheme):
        type_: str = "signed"
        level: int = 3

    dumped = AuthConfig(auth_scheme=Signed()).model_dump(mode="json", by_alias=True)
    assert dumped["authScheme"] == {"type": "signed", "level": 3}
    issuer = AuthConfig(auth_scheme=ExtendedOAuth2(flows=OAuthFlows(), issuer_url="https://i"))
    assert issuer.model_dump(mode="json")["auth_scheme"]["issuer_url"] == "https://i"


def test_config_read_from_json_can_be_dumped_before_its_parts_were_ever_built() -> None:
    script = (
        "from ostinato.auth.auth_tool import AuthConfig\n"
        'text = \'{"authScheme": {"type": "oauth2", "flows": {}}}\'\n'
        "print(AuthConfig.model_validate_json(text).model_dump(exclude_none=True)['auth_scheme'])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert "oauth2" in done.stdout


class ForeignType(Enum):
    apiKey = "apiKey"


class ForeignIn(Enum):
    header = "header"


@dataclass
class ForeignApiKey:
    """Stands for another OpenAPI library's object: same attributes, unrelated classes."""

    type_: ForeignType
    in_: ForeignIn
    name: str
    description: str | None = None


def test_foreign_scheme_object_is_read_through_its_attributes() -> None:
    foreign = ForeignApiKey(ForeignType.apiKey, ForeignIn.header, "X-Key")
    config = AuthConfig.model_validate({"auth_scheme": foreign})
    assert isinstance(config.auth_scheme, APIKey)
    assert config.auth_scheme.in_ is APIKeyIn.header
    assert config.auth_scheme.type_ is SecuritySchemeType.apiKey
    assert config.credential_key == "adk_apiKey_9a46dad5a84303f3_"


def test_a_scheme_of_another_library_with_the_same_fields_is_equal() -> None:
    fields: dict[str, Any] = {"type_": (str, "apiKey"), "in_": (str, ...), "name": (str, ...)}
    aliased = {"type_": "type", "in_": "in"}
    foreign_class = create_model(
        "APIKey",
        __config__=ConfigDict(
            alias_generator=lambda name: aliased.get(name, name), populate_by_name=True
        ),
        **fields,
    )
    foreign: Any = foreign_class(in_="header", name="X-Key")
    scheme = AuthConfig(auth_scheme=foreign).auth_scheme
    assert isinstance(scheme, APIKey) and scheme == foreign
    assert scheme != foreign_class(in_="header", name="other")
    assert scheme != create_model("Other", **fields)(in_="header", name="X-Key")
    assert scheme != "X-Key" and scheme == scheme.model_copy()


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        ({}, "service_account_credential"),
        ({"use_default_credential": True, "use_id_token": True}, "audience"),
    ],
)
def test_service_account_that_can_yield_no_token_is_refused(
    fields: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(ValidationError, match=remedy):
        ServiceAccount(**fields)
    assert ServiceAccount(use_default_credential=True, scopes=["s"]).use_id_token is False


def test_grant_type_of_flows() -> None:
    both = OAuthFlows(
        clientCredentials=OAuthFlowClientCredentials(tokenUrl="t"),
        authorizationCode=OAuthFlowAuthorizationCode(authorizationUrl="a", tokenUrl="t"),
    )
    assert OAuthGrantType.from_flow(both) is OAuthGrantType.CLIENT_CREDENTIALS
    assert OAuthGrantType.from_flow(CODE_FLOW.flows) is OAuthGrantType.AUTHORIZATION_CODE
    assert OAuthGrantType.from_flow(OAuthFlows()) is None


def test_confirmation_refuses_what_it_does_not_know() -> None:
    answer = ToolConfirmation.model_validate({"confirmed": True, "payload": {"days": 3}})
    assert answer.model_dump(by_alias=True) == {
        "hint": "",
        "confirmed": True,
        "payload": {"days": 3},
    }
    with pytest.raises(ValidationError):
        ToolConfirmation.model_validate({"confirmd": True})
