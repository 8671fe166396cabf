"""Credentials of Google's tools: where a login comes from, its refresh, where it is kept."""

import json
from datetime import datetime
from typing import Any
from unittest.mock import Mock

import pytest
from google.auth.credentials import Credentials as AnyLogin
from google.auth.exceptions import RefreshError
from google.oauth2.credentials import Credentials
from pydantic import ValidationError

from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from ostinato.auth.credential_service.in_memory_credential_service import (
    InMemoryCredentialService,
)
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from ostinato.tools._google_credentials import (
    BaseGoogleCredentialsConfig,
    GoogleCredentialsManager,
)
from ostinato.tools.bigquery import BigQueryCredentialsConfig
from ostinato.tools.bigquery.bigquery_credentials import BIGQUERY_SCOPES
from tests.unit.tools.contexts import make_context

CLIENT: dict[str, Any] = {"client_id": "id", "client_secret": "the-secret"}
KEY = "bigquery_token_cache"


class ServiceLogin(AnyLogin):
    """A login of a service account whose refresh works or does not."""

    def __init__(self, works: bool = True) -> None:
        super().__init__()
        self.works, self.refreshes = works, 0

    def refresh(self, request: Any) -> None:
        self.refreshes += 1
        if not self.works:
            raise RefreshError("no")
        self.token = "fresh"


class UserLogin(Credentials):
    """A user's login whose refresh works without a network."""

    def refresh(self, request: Any) -> None:
        if self.refresh_token == "revoked":
            raise RefreshError("revoked")
        self.token, self.expiry = "fresh", None


def user_login(refresh_token: str | None = "r", token: str | None = None) -> UserLogin:
    return UserLogin(token, refresh_token=refresh_token, scopes=["s"], **CLIENT)


async def get(config: BaseGoogleCredentialsConfig, context: Context) -> Any:
    return await GoogleCredentialsManager(config).get_valid_credentials(context)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "Must provide one of credentials"),
        ({"client_id": "id"}, "client_secret pair"),
        ({"credentials": ServiceLogin(), "client_id": "id"}, "must not be provided"),
        ({"credentials": ServiceLogin(), "scopes": ["s"]}, "must not be provided"),
        ({"external_access_token_key": "k", **CLIENT}, "must not be provided"),
        ({"credentials": "a-token"}, "not str"),
        ({**CLIENT, "token": "t"}, "Extra inputs"),
    ],
)
def test_exactly_one_way_is_accepted(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        BaseGoogleCredentialsConfig(**fields)


def test_the_client_of_a_users_login_is_taken_over() -> None:
    config = BaseGoogleCredentialsConfig(credentials=user_login())
    assert (config.client_id, config.client_secret, config.scopes) == ("id", "the-secret", ["s"])


def test_bigquery_has_scopes_and_a_key_of_its_own() -> None:
    assert BigQueryCredentialsConfig(**CLIENT).scopes == BIGQUERY_SCOPES
    config = BigQueryCredentialsConfig(**CLIENT, scopes=["mine"])
    assert (config.scopes, config.token_cache_key) == (["mine"], KEY)
    assert BaseGoogleCredentialsConfig(**CLIENT).token_cache_key is None


def test_a_subclass_extends_the_check_as_in_google_adk() -> None:
    class MyConfig(BaseGoogleCredentialsConfig):
        def __post_init__(self) -> "MyConfig":
            super().__post_init__()
            self._token_cache_key = "mine"
            return self

    assert MyConfig(**CLIENT).token_cache_key == "mine"
    with pytest.raises(ValidationError, match="Must provide"):
        MyConfig()


async def test_another_system_may_put_the_token_into_the_state() -> None:
    config = BaseGoogleCredentialsConfig(external_access_token_key="k")
    assert (await get(config, make_context(state={"k": "t-9"}))).token == "t-9"
    with pytest.raises(AgentConfigError, match="no access token under 'k'"):
        await get(config, make_context())


@pytest.mark.parametrize("works", [True, False])
async def test_a_service_account_serves_everyone(works: bool) -> None:
    login = ServiceLogin(works)
    config = BaseGoogleCredentialsConfig(credentials=login)
    for _ in range(2):
        assert await get(config, make_context()) is login
    # Whether it works, the request itself finds out.
    assert login.refreshes == (1 if works else 2)


async def test_a_valid_users_login_is_used_unchanged() -> None:
    login = user_login(token="t")
    assert await get(BaseGoogleCredentialsConfig(credentials=login), make_context()) is login


async def test_a_login_of_this_machine_is_refreshed_before_its_first_use() -> None:
    # `gcloud auth application-default login` leaves a refresh token and no token.
    context = make_context()
    found = await get(BigQueryCredentialsConfig(credentials=user_login()), context)
    assert found.token == "fresh" and not context.actions.state_delta


@pytest.mark.parametrize("refresh_token", ["revoked", None])
async def test_a_login_that_cannot_be_refreshed_asks_the_user(refresh_token: str | None) -> None:
    context = make_context()
    config = BigQueryCredentialsConfig(credentials=user_login(refresh_token))
    assert await get(config, context) is None
    assert "call-1" in context.actions.requested_auth_configs


async def test_a_user_is_asked_once_in_an_invocation() -> None:
    context, config = make_context(), BigQueryCredentialsConfig(**CLIENT)
    assert await get(config, context) is None
    request = context.actions.requested_auth_configs["call-1"]
    scheme: Any = request.auth_scheme
    flow = scheme.flows.authorizationCode
    assert list(flow.scopes) == BIGQUERY_SCOPES
    assert flow.authorizationUrl == "https://accounts.google.com/o/oauth2/auth"
    assert flow.tokenUrl == "https://oauth2.googleapis.com/token"
    oauth2 = OAuth2Auth(access_token="granted", refresh_token="r", expires_at=4_102_444_800)
    answer = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2)
    context.state[f"temp:{request.credential_key}"] = answer
    for _ in range(2):
        login = await get(config, context)
        assert (login.token, login.client_secret) == ("granted", "the-secret")
        assert login.expiry == datetime(2100, 1, 1)
    # No token gets into an event.
    assert "granted" not in str(
        {k: v for k, v in context.actions.state_delta.items() if not k.startswith("temp:")}
    )


async def test_a_credential_service_keeps_the_tokens() -> None:
    service, config = InMemoryCredentialService(), BigQueryCredentialsConfig(**CLIENT)
    first, later = make_context(), make_context()
    for context in (first, later):
        context.get_invocation_context().credential_service = service
    assert await get(config, first) is None
    request = first.actions.requested_auth_configs["call-1"]
    oauth2 = OAuth2Auth(access_token="granted", expires_at=4_102_444_800)
    answer = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2)
    first.state[f"temp:{request.credential_key}"] = answer
    assert (await get(config, first)).token == "granted"
    assert (await get(config, later)).token == "granted"


async def test_a_mock_of_a_context_is_asked_as_in_google_adk() -> None:
    config = BigQueryCredentialsConfig(**CLIENT)
    context = Mock(spec=Context, state={})
    context.get_auth_response.return_value = None
    assert await get(config, context) is None
    context.request_credential.assert_called_once()
    oauth2 = OAuth2Auth(access_token="granted", refresh_token="r")
    context.get_auth_response.return_value = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2
    )
    assert (await get(config, context)).token == "granted"
    kept = json.loads(context.state[KEY])
    assert kept["refresh_token"] == "r" and "client_secret" not in kept


async def test_a_dead_login_without_a_client_says_what_to_do() -> None:
    login = Credentials(token="t", expiry=datetime(2001, 1, 1))
    with pytest.raises(AgentConfigError, match="Give one with a refresh token"):
        await get(BaseGoogleCredentialsConfig(credentials=login), make_context())


async def test_tokens_that_google_adk_kept_are_read() -> None:
    kept = {"token": "t", "refresh_token": "r", **CLIENT, "expiry": "2124-01-01T00:00:00Z"}
    config = BigQueryCredentialsConfig(**CLIENT)
    found = await get(config, make_context(state={KEY: json.dumps(kept)}))
    assert found.token == "t" and found.expiry == datetime(2124, 1, 1)
