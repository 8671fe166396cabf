"""Codes, client secrets and refresh tokens become tokens, or errors that hold no secret."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import create_model

from ostinato._clock import now
from ostinato.auth import _token_endpoint
from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_schemes import (
    APIKey,
    ExtendedOAuth2,
    OAuth2,
    OAuthFlowImplicit,
    OAuthFlowPassword,
    OAuthFlows,
    OpenIdConnectWithConfig,
)
from ostinato.auth.exchanger.base_credential_exchanger import CredentialExchangeError
from ostinato.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from ostinato.auth.oauth2_credential_util import (
    create_oauth2_session,
    update_credential_with_tokens,
)
from ostinato.auth.refresher.base_credential_refresher import CredentialRefresherError
from ostinato.auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher
from tests.unit.auth.identity_provider import (
    CLIENT_SECRET,
    REDIRECT,
    IdentityProvider,
    running_provider,
)
from tests.unit.auth.kit import client, client_flow, code_flow, oauth2_of, pkce_config

FAULTS = ["server error", "html", "list", "no token", "huge", "odd error", "slow"]


def consented(idp: IdentityProvider, **fields: Any) -> AuthCredential:
    """A credential as it comes back from the user's browser."""
    config = pkce_config(idp)
    credential = AuthHandler(config).generate_auth_uri()
    oauth2 = oauth2_of(credential)
    oauth2.auth_response_uri = idp.consent(oauth2.auth_uri or "")
    for name, value in fields.items():
        setattr(oauth2, name, value)
    return credential


@pytest.mark.parametrize(
    "place",
    [
        "http://idp.example/token",
        "http://127.0.0.1.example/token",
        "idp.example/token",
        "http://idp.example\\@127.0.0.1/token",
        "http://idp.example@127.0.0.1/token",
    ],
)
async def test_no_secret_is_sent_to_an_endpoint_that_is_not_https(
    idp: IdentityProvider, place: str
) -> None:
    scheme = client_flow(idp)
    assert scheme.flows.clientCredentials is not None
    scheme.flows.clientCredentials.tokenUrl = place
    with pytest.raises(CredentialExchangeError, match="is not https"):
        await OAuth2CredentialExchanger().exchange(client(), scheme)
    holder = client(access_token="old", refresh_token="r")
    with pytest.raises(CredentialRefresherError, match="is not https"):
        await OAuth2CredentialRefresher().refresh(holder, scheme)


async def test_an_answer_of_another_issuer_is_refused(idp: IdentityProvider) -> None:
    scheme = ExtendedOAuth2(issuer_url=idp.url, flows=code_flow(idp).flows)
    before = consented(idp)
    answer = oauth2_of(before).auth_response_uri
    oauth2_of(before).auth_response_uri = f"{answer}&iss=https%3A%2F%2Fevil.example"
    with pytest.raises(CredentialExchangeError, match="another issuer") as caught:
        await OAuth2CredentialExchanger().exchange(before, scheme)
    assert caught.value.ask_again
    assert idp.forms == []
    oauth2_of(before).auth_response_uri = f"{answer}&iss={idp.url}"
    assert (await OAuth2CredentialExchanger().exchange(before, scheme)).was_exchanged


@pytest.mark.parametrize(
    "method", ["client_secret_basic", "client_secret_post", "client_secret_jwt"]
)
async def test_code_becomes_a_token(idp: IdentityProvider, method: str) -> None:
    before = consented(idp, token_endpoint_auth_method=method)
    shown = before.model_dump()
    after, was_exchanged = await OAuth2CredentialExchanger().exchange(before, code_flow(idp))
    tokens = oauth2_of(after)
    assert was_exchanged
    assert tokens.access_token in idp.issued
    assert tokens.refresh_token in idp.issued
    assert tokens.expires_in == 3600
    assert tokens.expires_at is not None
    assert 3590 < tokens.expires_at - now() <= 3600
    assert before.model_dump() == shown
    [form] = idp.forms
    assert {name: form[name] for name in ("grant_type", "redirect_uri")} == {
        "grant_type": "authorization_code",
        "redirect_uri": REDIRECT,
    }
    assert len(form["code_verifier"]) == 48
    assert ("client_secret" in form) is (method == "client_secret_post")


async def test_code_alone_becomes_a_token(idp: IdentityProvider) -> None:
    uri = idp.consent(oauth2_of(AuthHandler(pkce_config(idp)).generate_auth_uri()).auth_uri or "")
    assert uri.startswith(REDIRECT)
    credential = consented(idp)
    oauth2 = oauth2_of(credential)
    code = (oauth2.auth_response_uri or "").split("code=")[1].split("&")[0]
    oauth2.auth_response_uri, oauth2.auth_code = None, code
    exchanged = await OAuth2CredentialExchanger().exchange(credential, code_flow(idp))
    assert exchanged.was_exchanged


async def test_open_id_code_becomes_a_token(idp: IdentityProvider) -> None:
    scheme = OpenIdConnectWithConfig(
        authorization_endpoint=idp.authorize_url, token_endpoint=idp.token_url
    )
    credential = consented(idp)
    credential.auth_type = AuthCredentialTypes.OPEN_ID_CONNECT
    exchanged = await OAuth2CredentialExchanger().exchange(credential, scheme)
    assert oauth2_of(exchanged.credential).access_token in idp.issued


@pytest.mark.parametrize("open_id", [False, True])
async def test_client_gets_a_token_for_itself(idp: IdentityProvider, open_id: bool) -> None:
    scheme: Any = client_flow(idp)
    if open_id:
        scheme = OpenIdConnectWithConfig(
            authorization_endpoint="",
            token_endpoint=idp.token_url,
            grant_types_supported=["client_credentials"],
            scopes=["jobs"],
        )
    exchanged = await OAuth2CredentialExchanger().exchange(client(audience="api://jobs"), scheme)
    assert oauth2_of(exchanged.credential).access_token in idp.issued
    [form] = idp.forms
    assert form == {"grant_type": "client_credentials", "scope": "jobs", "audience": "api://jobs"}


def _flow(**flows: Any) -> OAuth2:
    return OAuth2(flows=OAuthFlows(**flows))


@pytest.mark.parametrize(
    "scheme",
    [
        _flow(implicit=OAuthFlowImplicit(authorizationUrl="https://x")),
        _flow(password=OAuthFlowPassword(tokenUrl="https://x")),
        APIKey.model_validate({"in": "header", "name": "X"}),
    ],
)
async def test_what_needs_no_exchange_stays(scheme: Any) -> None:
    credential = client(auth_code="c")
    exchanged = await OAuth2CredentialExchanger().exchange(credential, scheme)
    assert exchanged == (credential, False)
    assert create_oauth2_session(scheme, credential) == (None, None)


async def test_token_is_not_exchanged_again(idp: IdentityProvider) -> None:
    credential = client(access_token="t", auth_code="c")
    assert not (await OAuth2CredentialExchanger().exchange(credential, code_flow(idp)))[1]
    assert idp.forms == []


async def test_exchange_needs_scheme_and_client(idp: IdentityProvider) -> None:
    exchanger = OAuth2CredentialExchanger()
    with pytest.raises(CredentialExchangeError, match="auth_scheme"):
        await exchanger.exchange(client(auth_code="c"))
    with pytest.raises(CredentialExchangeError, match="client_secret"):
        await exchanger.exchange(client(auth_code="c", client_secret=None), code_flow(idp))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"state": "another"}, "state"),
        (
            {"auth_response_uri": f"{REDIRECT}?error=access_denied&state=st", "state": "st"},
            "denied",
        ),
        ({"auth_response_uri": f"{REDIRECT}?state=st", "state": "st"}, "no authorization code"),
        ({"auth_response_uri": f"{REDIRECT}?code=a&code=b", "state": None}, "no authorization"),
        ({"auth_response_uri": None, "auth_code": None}, "auth_response_uri"),
        ({"code_verifier": "somebody else's"}, "invalid_grant"),
        ({"redirect_uri": "https://elsewhere.example"}, "invalid_grant"),
    ],
)
async def test_answer_that_a_user_has_to_mend(
    idp: IdentityProvider, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(CredentialExchangeError, match=message) as caught:
        await OAuth2CredentialExchanger().exchange(consented(idp, **fields), code_flow(idp))
    assert caught.value.ask_again


async def test_wrong_client_is_the_developers_to_mend(idp: IdentityProvider) -> None:
    wrong = consented(idp, client_secret="canary-wrong")
    with pytest.raises(CredentialExchangeError, match=r"invalid_client.*id and secret") as caught:
        await OAuth2CredentialExchanger().exchange(wrong, code_flow(idp))
    assert not caught.value.ask_again
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("fault", [*FAULTS, "invalid_scope", "temporarily_unavailable"])
async def test_fault_of_the_provider_is_told_without_secrets(
    idp: IdentityProvider, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "slow":
        monkeypatch.setattr(_token_endpoint, "TIMEOUT_SECONDS", 0.2)
    idp.fault = fault
    credential = consented(idp, token_endpoint_auth_method="client_secret_post")
    with pytest.raises(CredentialExchangeError) as caught:
        await OAuth2CredentialExchanger().exchange(credential, code_flow(idp))
    error: BaseException | None = caught.value
    assert not caught.value.ask_again
    assert f"{idp.url}/token" in str(error)
    shown = ""
    while error is not None:
        shown += f"{error!r}{error}"
        error = error.__cause__
    assert "canary" not in shown
    assert caught.value.__suppress_context__


async def test_provider_that_is_not_there() -> None:
    with running_provider() as idp:
        pass
    with pytest.raises(CredentialExchangeError, match="could not be reached"):
        await OAuth2CredentialExchanger().exchange(client(), client_flow(idp))


async def test_expired_token_is_refreshed(idp: IdentityProvider) -> None:
    scheme = code_flow(idp)
    first = (await OAuth2CredentialExchanger().exchange(consented(idp), scheme)).credential
    oauth2_of(first).expires_at = int(now()) - 5
    refresher = OAuth2CredentialRefresher()
    assert await refresher.is_refresh_needed(first, scheme)
    second = await refresher.refresh(first, scheme)
    assert oauth2_of(second).access_token not in (None, oauth2_of(first).access_token)
    assert oauth2_of(second).refresh_token not in (None, oauth2_of(first).refresh_token)
    assert not await refresher.is_refresh_needed(second, scheme)
    with pytest.raises(CredentialRefresherError, match="invalid_grant") as caught:
        await refresher.refresh(first, scheme)
    assert caught.value.ask_again
    assert "canary" not in str(caught.value)


async def test_refresh_token_that_is_not_rotated_stays(idp: IdentityProvider) -> None:
    idp.rotates = False
    first = (await OAuth2CredentialExchanger().exchange(consented(idp), code_flow(idp))).credential
    second = await OAuth2CredentialRefresher().refresh(first, code_flow(idp))
    assert oauth2_of(second).refresh_token == oauth2_of(first).refresh_token


async def test_without_a_refresh_token_there_is_nothing_to_refresh(idp: IdentityProvider) -> None:
    credential = client(access_token="t", expires_at=1)
    refresher = OAuth2CredentialRefresher()
    assert await refresher.refresh(credential, code_flow(idp)) is credential
    assert await refresher.refresh(client(refresh_token="r")) == client(refresh_token="r")
    assert idp.forms == []


@pytest.mark.parametrize(
    ("seconds", "needed"), [(-5, True), (30, True), (90, False), (3600, False), (None, False)]
)
async def test_refresh_is_due_a_minute_early(seconds: int | None, needed: bool) -> None:
    expires_at = None if seconds is None else int(now()) + seconds
    credential = client(access_token="t", expires_at=expires_at)
    assert await OAuth2CredentialRefresher().is_refresh_needed(credential) is needed


@pytest.mark.parametrize(
    ("tokens", "expires_in"),
    [
        ({"expires_in": "60"}, 60),
        ({"expires_in": 60.5}, 60),
        ({"expires_in": "soon"}, None),
        ({"expires_in": None}, None),
        ({}, None),
    ],
)
def test_expiry_as_servers_write_it(tokens: dict[str, Any], expires_in: int | None) -> None:
    credential = client(refresh_token="kept", id_token="kept too")
    update_credential_with_tokens(credential, {"access_token": "t", **tokens})
    oauth2 = oauth2_of(credential)
    assert oauth2.expires_in == expires_in
    assert (oauth2.expires_at is None) is (expires_in is None)
    assert (oauth2.access_token, oauth2.refresh_token, oauth2.id_token) == ("t", "kept", "kept too")


async def test_session_knows_client_and_endpoint(idp: IdentityProvider) -> None:
    session, endpoint = create_oauth2_session(code_flow(idp), client(state="st"))
    assert session is not None
    with session:
        assert endpoint == idp.token_url
        assert (session.client_secret, session.redirect_uri) == (CLIENT_SECRET, REDIRECT)
        assert (session.scope, session.state) == (None, "st")
    assert create_oauth2_session(code_flow(idp), client(client_id=None)) == (None, None)


def foreign(scheme: Any) -> Any:
    """The scheme as a record of another library, whose classes have the same names."""
    return foreign_record(type(scheme).__name__, scheme.model_dump(mode="json", exclude_none=True))


def foreign_record(name: str, fields: dict[str, Any]) -> Any:
    values = {
        key: foreign_record(key, value) if key in ("flows", "authorizationCode") else value
        for key, value in fields.items()
    }
    return create_model(name, **{key: (Any, ...) for key in values})(**values)  # type: ignore[call-overload]


async def test_a_session_for_a_scheme_of_another_library_asks_for_tokens(
    idp: IdentityProvider,
) -> None:
    oauth2 = oauth2_of(consented(idp))
    (code,) = parse_qs(urlsplit(oauth2.auth_response_uri or "").query)["code"]

    def ask() -> dict[str, Any]:
        session, endpoint = create_oauth2_session(foreign(code_flow(idp)), client())
        assert session is not None
        with session:
            tokens = session.fetch_token(
                endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=oauth2.code_verifier,
            )
            return session.refresh_token(endpoint, refresh_token=tokens["refresh_token"])

    assert (await asyncio.to_thread(ask))["access_token"]
    assert [form["grant_type"] for form in idp.forms] == ["authorization_code", "refresh_token"]
    assert not any("scope" in form for form in idp.forms)


async def test_a_scheme_of_another_library_is_exchanged_and_refreshed(
    idp: IdentityProvider,
) -> None:
    scheme = foreign(code_flow(idp))
    exchanged, done = await OAuth2CredentialExchanger().exchange(consented(idp), scheme)
    assert done
    renewed = await OAuth2CredentialRefresher().refresh(exchanged, scheme)
    assert oauth2_of(renewed).access_token != oauth2_of(exchanged).access_token
