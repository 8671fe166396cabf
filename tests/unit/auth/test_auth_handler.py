"""The credential round trip: what the client is asked, and what becomes of its answer."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)
from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_schemes import (
    APIKey,
    CustomAuthScheme,
    HTTPBearer,
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlowClientCredentials,
    OAuthFlows,
    OpenIdConnectWithConfig,
)
from ostinato.auth.auth_tool import AuthConfig, AuthToolArguments
from ostinato.errors import InputValidationError

API_KEY_SCHEME = APIKey.model_validate({"in": "header", "name": "X-Key"})
API_KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
BEARER = AuthCredential(
    auth_type=AuthCredentialTypes.HTTP,
    http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="t")),
)
CODE_FLOW = OAuth2(
    flows=OAuthFlows(
        authorizationCode=OAuthFlowAuthorizationCode(
            authorizationUrl="https://login.example/auth?tenant=1",
            tokenUrl="https://login.example/token",
            scopes={"mail": "", "calendar read": ""},
        )
    )
)
CLIENT_FLOW = OAuth2(
    flows=OAuthFlows(clientCredentials=OAuthFlowClientCredentials(tokenUrl="https://t"))
)
OIDC = OpenIdConnectWithConfig(
    authorization_endpoint="https://login.example/auth", token_endpoint="https://t"
)


def client(**fields: Any) -> AuthCredential:
    known = {"client_id": "cid", "client_secret": "sec", "redirect_uri": "https://app/cb"}
    return AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(**{**known, **fields})
    )


def requested(scheme: Any, raw: AuthCredential | None) -> OAuth2Auth:
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)
    exchanged = AuthHandler(config).generate_auth_request().exchanged_auth_credential
    assert exchanged is not None
    assert exchanged.oauth2 is not None
    return exchanged.oauth2


def query_of(oauth2: OAuth2Auth) -> dict[str, list[str]]:
    assert oauth2.auth_uri is not None
    return parse_qs(urlsplit(oauth2.auth_uri).query)


@pytest.mark.parametrize(
    ("scheme", "answer"),
    [
        (API_KEY_SCHEME, API_KEY),
        (HTTPBearer(), BEARER),
        (CODE_FLOW, client(access_token="at", refresh_token="rt")),
        (OIDC, client(access_token="at")),
        (CLIENT_FLOW, client(access_token="at")),
        (CustomAuthScheme(type="mine"), API_KEY),
    ],
)
async def test_answer_of_the_client_reaches_the_tool(scheme: Any, answer: AuthCredential) -> None:
    asked = AuthConfig(auth_scheme=scheme, raw_auth_credential=client(auth_uri="https://given"))
    sent = AuthToolArguments(
        function_call_id="fc", auth_config=AuthHandler(asked).generate_auth_request()
    ).model_dump(mode="json", by_alias=True, exclude_none=True)
    answered = {
        **sent["authConfig"],
        "exchangedAuthCredential": answer.model_dump(mode="json", by_alias=True, exclude_none=True),
    }

    state: dict[str, Any] = {}
    await AuthHandler(AuthConfig.model_validate(answered)).parse_and_store_auth_response(state)

    assert list(state) == [f"temp:{asked.credential_key}"]
    assert AuthHandler(asked).get_auth_response(state) == answer


async def test_answer_is_read_back_after_it_became_json() -> None:
    config = AuthConfig(auth_scheme=API_KEY_SCHEME, credential_key="k")
    state = {"temp:k": API_KEY.model_dump(mode="json", by_alias=True)}
    assert AuthHandler(config).get_auth_response(state) == API_KEY
    assert AuthHandler(config).get_auth_response({}) is None


def test_something_else_under_the_key_is_named_but_not_shown() -> None:
    config = AuthConfig(auth_scheme=API_KEY_SCHEME, credential_key="k")
    with pytest.raises(InputValidationError, match="'temp:k'") as caught:
        AuthHandler(config).get_auth_response({"temp:k": {"password": "hunter2"}})
    assert "hunter2" not in str(caught.value)


def test_request_without_consent_is_a_copy() -> None:
    config = AuthConfig(auth_scheme=API_KEY_SCHEME, raw_auth_credential=API_KEY)
    request = AuthHandler(config).generate_auth_request()
    assert request == config
    assert request.raw_auth_credential is not config.raw_auth_credential


def test_consent_address() -> None:
    raw = client(audience="api://mail")
    oauth2 = requested(CODE_FLOW, raw)
    assert oauth2.auth_uri is not None
    assert oauth2.auth_uri.startswith("https://login.example/auth?tenant=1&response_type=code&")
    assert oauth2.state
    assert len(oauth2.state) == 30
    assert query_of(oauth2) == {
        "tenant": ["1"],
        "response_type": ["code"],
        "client_id": ["cid"],
        "redirect_uri": ["https://app/cb"],
        "scope": ["mail calendar read"],
        "state": [oauth2.state],
        "access_type": ["offline"],
        "prompt": ["consent"],
        "audience": ["api://mail"],
    }
    assert raw.oauth2 is not None
    assert raw.oauth2.auth_uri is None


def test_each_request_has_a_state_of_its_own() -> None:
    assert requested(CODE_FLOW, client()).state != requested(CODE_FLOW, client()).state


def test_consent_address_leaves_out_what_is_not_there() -> None:
    query = query_of(requested(OIDC, client(redirect_uri=None)))
    assert set(query) == {"response_type", "client_id", "state", "access_type", "prompt"}


def test_pkce_challenge_of_the_standard() -> None:
    # Verifier and challenge of RFC 7636, appendix B.
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    oauth2 = requested(CODE_FLOW, client(code_challenge_method="S256", code_verifier=verifier))
    query = query_of(oauth2)
    assert query["code_challenge"] == ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"]
    assert query["code_challenge_method"] == ["S256"]
    assert oauth2.code_verifier == verifier


def test_pkce_makes_a_verifier_where_there_is_none() -> None:
    oauth2 = requested(CODE_FLOW, client(code_challenge_method="S256"))
    assert oauth2.code_verifier
    assert len(oauth2.code_verifier) == 48


def test_given_consent_address_is_kept() -> None:
    assert requested(CODE_FLOW, client(auth_uri="https://given")).auth_uri == "https://given"
    config = AuthConfig(
        auth_scheme=CODE_FLOW, exchanged_auth_credential=client(auth_uri="https://asked")
    )
    assert AuthHandler(config).generate_auth_request() == config


@pytest.mark.parametrize(
    ("scheme", "raw", "remedy"),
    [
        (CODE_FLOW, None, "raw_auth_credential"),
        (CODE_FLOW, API_KEY, "oauth2"),
        (CODE_FLOW, client(client_secret=None), "client_secret"),
        (CODE_FLOW, client(code_challenge_method="plain"), "S256"),
        (OAuth2(flows=OAuthFlows()), client(), "authorizationCode"),
    ],
)
def test_request_that_cannot_be_made_says_what_is_missing(
    scheme: Any, raw: AuthCredential | None, remedy: str
) -> None:
    with pytest.raises(InputValidationError, match=remedy):
        requested(scheme, raw)


def test_flow_without_a_user_asks_nobody() -> None:
    with pytest.raises(InputValidationError, match="AuthenticatedFunctionTool"):
        requested(CLIENT_FLOW, client())


async def test_verifier_is_made_again_from_the_secret() -> None:
    config = AuthConfig(
        auth_scheme=CODE_FLOW, raw_auth_credential=client(code_challenge_method="S256")
    )
    request = AuthHandler(config).generate_auth_request()
    assert request.exchanged_auth_credential is not None
    sent = request.exchanged_auth_credential.oauth2
    assert sent is not None
    answer = client(client_secret=None, auth_code="c", state=sent.state)
    state: dict[str, Any] = {f"temp:{config.credential_key}": answer}
    filled = AuthHandler(config).get_auth_response(state)
    assert filled is not None
    assert filled.oauth2 is not None
    assert filled.oauth2.client_secret == "sec"
    assert filled.oauth2.code_verifier == sent.code_verifier
    assert answer.oauth2 is not None
    assert answer.oauth2.code_verifier is None


async def test_code_waits_where_the_secret_is_not_known() -> None:
    config = AuthConfig(
        auth_scheme=CODE_FLOW,
        exchanged_auth_credential=client(client_secret=None, auth_code="c"),
        credential_key="k",
    )
    state: dict[str, Any] = {}
    await AuthHandler(config).parse_and_store_auth_response(state)
    assert state["temp:k"] == config.exchanged_auth_credential


async def test_another_clients_answer_gets_no_secret_of_ours() -> None:
    config = AuthConfig(auth_scheme=CODE_FLOW, raw_auth_credential=client(), credential_key="k")
    foreign = client(client_id="other", client_secret=None, access_token="t")
    assert AuthHandler(config).get_auth_response({"temp:k": foreign}) == foreign


def _without_endpoint() -> Any:
    scheme = OpenIdConnectWithConfig(authorization_endpoint="https://a", token_endpoint="https://t")
    del scheme.token_endpoint
    return scheme


@pytest.mark.parametrize(
    ("scheme", "answer"),
    [
        (CODE_FLOW, client()),
        (CODE_FLOW, client(access_token="t", auth_code="c")),
        (CODE_FLOW, API_KEY),
        (OAuth2(flows=OAuthFlows()), client(auth_code="c")),
        (_without_endpoint(), client(auth_code="c")),
    ],
    ids=["no code", "a token", "no oauth2", "no flow", "no endpoint"],
)
async def test_a_credential_with_nothing_to_exchange_stays_as_it_is(
    scheme: Any, answer: AuthCredential
) -> None:
    config = AuthConfig.model_construct(
        auth_scheme=scheme, raw_auth_credential=client(), exchanged_auth_credential=answer
    )
    before = answer.model_copy(deep=True)
    assert await AuthHandler(config).exchange_auth_token() is answer
    assert answer == before


@pytest.mark.parametrize("answer", [None, client(), API_KEY])
async def test_empty_oauth2_answer_is_refused(answer: AuthCredential | None) -> None:
    config = AuthConfig(auth_scheme=CODE_FLOW, exchanged_auth_credential=answer)
    state: dict[str, Any] = {}
    with pytest.raises(InputValidationError, match="access_token"):
        await AuthHandler(config).parse_and_store_auth_response(state)
    assert state == {}
