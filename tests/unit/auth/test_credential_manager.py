"""The manager finds a credential, makes it usable and keeps it, and asks only if it must."""

import asyncio
import datetime
from collections.abc import Iterator
from typing import Any

import google.auth.exceptions
import google.oauth2.id_token
import pytest

from ostinato._clock import now
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    ServiceAccount,
    ServiceAccountCredential,
)
from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_provider_registry import AuthProviderRegistry
from ostinato.auth.auth_schemes import (
    APIKey,
    AuthScheme,
    CustomAuthScheme,
    HTTPBearer,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.base_auth_provider import BaseAuthProvider
from ostinato.auth.credential_manager import CredentialManager
from ostinato.auth.credential_service import InMemoryCredentialService
from ostinato.auth.exchanger.base_credential_exchanger import (
    BaseCredentialExchanger,
    CredentialExchangeError,
    ExchangeResult,
)
from ostinato.auth.refresher.base_credential_refresher import CredentialRefresherError
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from tests.unit.auth.identity_provider import CLIENT_SECRET, SERVICE_KEY, IdentityProvider
from tests.unit.auth.kit import client, client_flow, code_flow, config_of, oauth2_of, pkce_config
from tests.unit.tools.contexts import make_invocation

KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
BEARER = AuthCredential(
    auth_type=AuthCredentialTypes.HTTP,
    http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="t")),
)
BASIC = AuthCredential(
    auth_type=AuthCredentialTypes.HTTP,
    http=HttpAuth(scheme="basic", credentials=HttpCredentials(username="u", password="p")),
)
KEY_SCHEME = APIKey.model_validate({"in": "header", "name": "X-Key"})


def a_run(service: Any = None) -> Context:
    """The context of a call in a new run of the same user."""
    invocation = make_invocation()
    invocation.credential_service = service
    return Context(invocation, function_call_id="call-1")


def answered(idp: IdentityProvider, config: AuthConfig, service: Any = None) -> Context:
    """A run whose user has consented and answered."""
    context = a_run(service)
    credential = AuthHandler(config).generate_auth_uri()
    oauth2 = oauth2_of(credential)
    oauth2.auth_response_uri = idp.consent(oauth2.auth_uri or "")
    context.session.state[f"temp:{config.credential_key}"] = credential
    return context


@pytest.mark.parametrize(
    ("scheme", "raw"), [(KEY_SCHEME, KEY), (HTTPBearer(), BEARER), (HTTPBearer(), BASIC)]
)
async def test_key_of_the_developer_is_ready(scheme: Any, raw: AuthCredential) -> None:
    assert await CredentialManager(config_of(scheme, raw)).get_auth_credential(a_run()) == raw


async def test_user_is_asked_for_what_nobody_knows(idp: IdentityProvider) -> None:
    context = a_run(InMemoryCredentialService())
    manager = CredentialManager(pkce_config(idp))
    assert await manager.get_auth_credential(context) is None
    await manager.request_credential(context)
    request = context.actions.requested_auth_configs["call-1"]
    assert (oauth2_of(request.exchanged_auth_credential).auth_uri or "").startswith(idp.url)
    assert CLIENT_SECRET not in request.model_dump_json()
    assert idp.forms == []


async def test_key_that_only_a_user_knows_is_asked_for() -> None:
    assert (
        await CredentialManager(AuthConfig(auth_scheme=KEY_SCHEME)).get_auth_credential(a_run())
        is None
    )


async def test_answer_is_exchanged_once_and_kept(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    context = answered(idp, config, service)
    first = await CredentialManager(config).get_auth_credential(context)
    assert oauth2_of(first).access_token in idp.issued
    assert await CredentialManager(config).get_auth_credential(context) == first
    later = await CredentialManager(pkce_config(idp)).get_auth_credential(a_run(service))
    assert oauth2_of(later).access_token == oauth2_of(first).access_token
    assert idp.grants == ["authorization_code"]


async def test_what_is_kept_lacks_what_the_configuration_knows(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    stored = oauth2_of(await service.load_credential(config, a_run()))
    assert stored.access_token
    assert (stored.client_secret, stored.code_verifier, stored.auth_response_uri) == (None,) * 3


async def test_without_a_service_a_credential_lives_as_long_as_the_run(
    idp: IdentityProvider,
) -> None:
    config = pkce_config(idp)
    context = answered(idp, config)
    assert await CredentialManager(config).get_auth_credential(context)
    assert context.get_credential(config.credential_key or "") is not None
    assert await CredentialManager(config).get_auth_credential(a_run()) is None


async def test_expired_token_is_refreshed_and_kept(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    idp.expires_in = 1
    await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    idp.expires_in = 3600
    second = await CredentialManager(config).get_auth_credential(a_run(service))
    third = await CredentialManager(config).get_auth_credential(a_run(service))
    assert oauth2_of(second).access_token == oauth2_of(third).access_token
    assert idp.grants == ["authorization_code", "refresh_token"]


async def test_user_is_asked_again_when_the_refresh_token_is_revoked(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    idp.expires_in = 1
    await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    idp.revoke()
    idp.expires_in = 3600
    assert await CredentialManager(config).get_auth_credential(a_run(service)) is None
    fresh = await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    assert fresh is not None
    assert await CredentialManager(config).get_auth_credential(a_run(service)) == fresh.model_copy(
        update={
            "oauth2": oauth2_of(fresh).model_copy(
                update={"auth_response_uri": None, "code_verifier": None}
            )
        }
    )


async def test_failing_provider_is_not_taken_for_a_refusal(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    idp.expires_in = 1
    await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    idp.fault = "server error"
    with pytest.raises(CredentialRefresherError, match="HTTP 500"):
        await CredentialManager(config).get_auth_credential(a_run(service))
    context = answered(idp, pkce_config(idp))
    with pytest.raises(CredentialExchangeError, match="HTTP 500"):
        await CredentialManager(config).get_auth_credential(context)


async def test_calls_at_the_same_time_refresh_once(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    config = pkce_config(idp)
    idp.expires_in = 1
    await CredentialManager(config).get_auth_credential(answered(idp, config, service))
    idp.expires_in = 3600
    found = await asyncio.gather(
        *(CredentialManager(config).get_auth_credential(a_run(service)) for _ in range(5))
    )
    assert len({oauth2_of(credential).access_token for credential in found}) == 1
    assert idp.grants == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize("kept", [True, False])
async def test_client_gets_its_own_token_and_another_when_it_expires(
    idp: IdentityProvider, kept: bool
) -> None:
    service = InMemoryCredentialService() if kept else None
    manager = CredentialManager(config_of(client_flow(idp)))
    idp.expires_in = 1
    first = await manager.get_auth_credential(a_run(service))
    idp.expires_in = 3600
    second = await manager.get_auth_credential(a_run(service))
    third = await manager.get_auth_credential(a_run(service))
    assert oauth2_of(first).access_token != oauth2_of(second).access_token
    assert (second == third) is kept
    assert idp.grants == ["client_credentials"] * (2 if kept else 3)


async def test_token_of_the_developer_is_used(idp: IdentityProvider) -> None:
    raw = client(access_token="given", expires_at=int(now()) + 1000)
    found = await CredentialManager(config_of(code_flow(idp), raw)).get_auth_credential(a_run())
    assert oauth2_of(found).access_token == "given"
    asked = AuthConfig(
        auth_scheme=code_flow(idp), raw_auth_credential=client(), exchanged_auth_credential=raw
    )
    found = await CredentialManager(asked).get_auth_credential(a_run())
    assert oauth2_of(found).access_token == "given"


# Service accounts


def account(idp: IdentityProvider, **fields: Any) -> AuthCredential:
    key = ServiceAccountCredential(
        type="service_account",
        project_id="p",
        private_key_id="canary-key-id",
        private_key=SERVICE_KEY.as_pem(private=True).decode(),
        client_email="bot@p.example",
        client_id="1",
        auth_uri=idp.authorize_url,
        token_uri=idp.token_url,
        auth_provider_x509_cert_url="",
        client_x509_cert_url="",
        universe_domain="example",
    )
    return AuthCredential(
        auth_type=AuthCredentialTypes.SERVICE_ACCOUNT,
        service_account=ServiceAccount(
            **{"service_account_credential": key, "scopes": ["read", "write"], **fields}
        ),
    )


async def test_service_account_signs_for_a_bearer_token(idp: IdentityProvider) -> None:
    service = InMemoryCredentialService()
    manager = CredentialManager(config_of(HTTPBearer(), account(idp)))
    idp.expires_in = 1
    first = await manager.get_auth_credential(a_run(service))
    idp.expires_in = 3600
    second = await manager.get_auth_credential(a_run(service))
    third = await manager.get_auth_credential(a_run(service))
    assert second == third != first
    assert second is not None
    assert second.http is not None
    assert second.http.scheme == "bearer"
    assert second.http.credentials.token in idp.issued
    assert len(idp.forms) == 2


async def test_service_account_gets_an_id_token_for_an_audience(idp: IdentityProvider) -> None:
    raw = account(idp, use_id_token=True, audience="https://orders.example")
    found = await CredentialManager(config_of(HTTPBearer(), raw)).get_auth_credential(a_run())
    assert found is not None
    assert found.http is not None
    assert (found.http.credentials.token or "").startswith("canary-id-")
    assert oauth2_of(found).expires_at is not None


async def test_service_account_that_cannot_sign(idp: IdentityProvider) -> None:
    broken = account(idp)
    assert broken.service_account is not None
    assert broken.service_account.service_account_credential is not None
    broken.service_account.service_account_credential.private_key = "canary-no-key"
    manager = CredentialManager(config_of(HTTPBearer(), broken))
    with pytest.raises(CredentialExchangeError, match=r"bot@p.example cannot sign") as caught:
        await manager.get_auth_credential(a_run())
    assert "canary" not in str(caught.value)
    idp.fault = "invalid_grant"
    with pytest.raises(CredentialExchangeError, match=r"bot@p.example"):
        await CredentialManager(config_of(HTTPBearer(), account(idp))).get_auth_credential(a_run())


class Machine:
    """Credentials of google-auth for a machine."""

    token, quota_project_id = "machine-token", None
    expiry = datetime.datetime(2100, 1, 1)

    def refresh(self, request: object) -> None:
        self.token = "fresh-token"


@pytest.mark.parametrize("with_key", [False, True])
async def test_the_machines_own_identity_gives_an_access_token(
    idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch, with_key: bool
) -> None:
    asked: list[object] = []

    def default(scopes: list[str]) -> tuple[Machine, str]:
        asked.append(scopes)
        return Machine(), "project"

    monkeypatch.setattr(google.auth, "default", default)
    key = {} if with_key else {"service_account_credential": None}
    raw = account(idp, use_default_credential=True, **key)
    found = await CredentialManager(config_of(HTTPBearer(), raw)).get_auth_credential(a_run())
    assert found is not None and found.http is not None
    assert found.http.credentials.token == "fresh-token"
    assert found.http.additional_headers == {"x-goog-user-project": "project"}
    assert oauth2_of(found).expires_at == 4_102_444_800
    assert asked == [["read", "write"]] and not idp.forms


async def test_the_machines_own_identity_gives_an_id_token(
    idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google.oauth2.id_token, "fetch_id_token", lambda _, audience: audience)
    raw = account(
        idp,
        service_account_credential=None,
        use_default_credential=True,
        use_id_token=True,
        audience="https://orders.example",
    )
    found = await CredentialManager(config_of(HTTPBearer(), raw)).get_auth_credential(a_run())
    assert found is not None and found.http is not None
    assert found.http.credentials.token == "https://orders.example"


async def test_a_machine_without_an_identity_is_told_the_remedy(
    idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def default(scopes: list[str]) -> None:
        raise google.auth.exceptions.DefaultCredentialsError("canary")

    monkeypatch.setattr(google.auth, "default", default)
    raw = account(idp, service_account_credential=None, use_default_credential=True)
    with pytest.raises(CredentialExchangeError, match="service_account_credential") as caught:
        await CredentialManager(config_of(HTTPBearer(), raw)).get_auth_credential(a_run())
    assert "canary" not in str(caught.value)


def test_a_credential_that_only_names_a_secret_is_refused() -> None:
    raw = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, resource_ref="secrets/one")
    with pytest.raises(AgentConfigError, match="resource_ref"):
        CredentialManager(config_of(HTTPBearer(), raw))
    CredentialManager(config_of(HTTPBearer(), raw.model_copy(update={"api_key": "key"})))


# Configurations


async def test_endpoints_are_discovered(idp: IdentityProvider) -> None:
    scheme = OpenIdConnect(openIdConnectUrl=idp.url + "/.well-known/openid-configuration")
    config = config_of(scheme, client(AuthCredentialTypes.OPEN_ID_CONNECT))
    key = config.credential_key
    context = a_run()
    manager = CredentialManager(config)
    assert await manager.get_auth_credential(context) is None
    await manager.request_credential(context)
    request = context.actions.requested_auth_configs["call-1"]
    assert request.credential_key == key
    assert isinstance(request.auth_scheme, OpenIdConnectWithConfig)
    found = await manager.get_auth_credential(answered(idp, config))
    assert oauth2_of(found).access_token in idp.issued


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        ({"raw_auth_credential": None}, "raw_auth_credential"),
        ({"raw_auth_credential": AuthCredential(auth_type=AuthCredentialTypes.OAUTH2)}, "oauth2"),
        (
            {"raw_auth_credential": AuthCredential(auth_type=AuthCredentialTypes.SERVICE_ACCOUNT)},
            "service_account",
        ),
        ({"auth_scheme": OpenIdConnect(openIdConnectUrl="http://[bad")}, "discovered"),
    ],
)
async def test_configuration_that_cannot_work_says_so(
    idp: IdentityProvider, fields: dict[str, Any], remedy: str
) -> None:
    config = pkce_config(idp).model_copy(update=fields)
    with pytest.raises(AgentConfigError, match=remedy):
        await CredentialManager(config).get_auth_credential(a_run())


class _Stamp(BaseCredentialExchanger):
    async def exchange(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> ExchangeResult:
        return ExchangeResult(BEARER, True)


async def test_exchanger_of_ones_own(idp: IdentityProvider) -> None:
    config = pkce_config(idp)
    manager = CredentialManager(config)
    manager.register_credential_exchanger(AuthCredentialTypes.OAUTH2, _Stamp())
    assert await manager.get_auth_credential(answered(idp, config)) == BEARER
    assert idp.forms == []


# Schemes of one's own


class Vault(CustomAuthScheme):
    type_: str = "vault"
    path: str = "secret/x"


class VaultProvider(BaseAuthProvider):
    def __init__(self, answer: AuthCredential | None) -> None:
        self.answer = answer
        self.seen: list[AuthScheme] = []

    @property
    def supported_auth_schemes(self) -> tuple[type[AuthScheme], ...]:
        return (Vault,)

    async def get_auth_credential(
        self, auth_config: AuthConfig, context: Context
    ) -> AuthCredential | None:
        self.seen.append(auth_config.auth_scheme)
        return self.answer


@pytest.fixture
def no_providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(CredentialManager, "_providers", AuthProviderRegistry())
    yield


async def test_provider_serves_its_scheme(no_providers: None) -> None:
    config = AuthConfig(auth_scheme=Vault(path="a"))
    with pytest.raises(AgentConfigError, match=r"'vault'.*register_auth_provider"):
        await CredentialManager(config).get_auth_credential(a_run())
    provider = VaultProvider(KEY)
    CredentialManager.register_auth_provider(provider)
    CredentialManager.register_auth_provider(provider)
    assert await CredentialManager(config).get_auth_credential(a_run()) == KEY
    # In JSON the class is lost, and found again by its type.
    again = AuthConfig.model_validate_json(config.model_dump_json(by_alias=True))
    assert await CredentialManager(again).get_auth_credential(a_run()) == KEY
    assert provider.seen == [Vault(path="a"), Vault(path="a")]


async def test_provider_may_leave_it_to_the_user(no_providers: None) -> None:
    config = AuthConfig(auth_scheme=Vault())
    CredentialManager.register_auth_provider(VaultProvider(None))
    context = a_run()
    assert await CredentialManager(config).get_auth_credential(context) is None
    context.session.state[f"temp:{config.credential_key}"] = KEY
    assert await CredentialManager(config).get_auth_credential(context) == KEY


async def test_scheme_has_one_provider(no_providers: None) -> None:
    CredentialManager.register_auth_provider(VaultProvider(KEY))
    with pytest.raises(AgentConfigError, match="Vault is served by VaultProvider"):
        CredentialManager.register_auth_provider(VaultProvider(KEY))

    class Nothing(VaultProvider):
        @property
        def supported_auth_schemes(self) -> Any:
            return ()

    with pytest.raises(AgentConfigError, match="Nothing names no scheme"):
        CredentialManager.register_auth_provider(Nothing(KEY))
