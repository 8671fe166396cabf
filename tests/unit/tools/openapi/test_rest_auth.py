"""Credentials of REST tools: what is sent for each scheme, who is asked, and what stays secret."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel, Field

from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
)
from ostinato.auth.auth_schemes import APIKey, HTTPBase, HTTPBearer, OAuth2, OpenIdConnect
from ostinato.errors import AgentConfigError
from ostinato.tools.openapi.auth_helpers import (
    bearer_credential,
    credential_to_param,
    dict_to_auth_scheme,
    openid_dict_to_scheme_credential,
    openid_url_to_scheme_credential,
    service_account_dict_to_scheme_credential,
    token_to_scheme_credential,
)
from ostinato.tools.openapi.credential_exchangers import (
    AuthCredentialMissingError,
    AutoAuthCredentialExchanger,
    BaseAuthCredentialExchanger,
    OAuth2CredentialExchanger,
    ServiceAccountCredentialExchanger,
)
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.tool_auth_handler import (
    ToolAuthHandler,
    ToolContextCredentialStore,
)
from tests.unit.tools.contexts import make_context
from tests.unit.tools.openapi.documents import make_operation

OAUTH = {
    "type": "oauth2",
    "flows": {
        "authorizationCode": {
            "authorizationUrl": "https://login.example/auth",
            "tokenUrl": "https://login.example/token",
            "scopes": {},
        }
    },
}
SCHEMES: dict[str, Any] = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "app": {"type": "apiKey", "in": "query", "name": "app"},
    "sid": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "digest": {"type": "http", "scheme": "digest"},
    "oauth": OAUTH,
}


def key(value: str) -> AuthCredential:
    return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=value)


def basic(user: str, password: str) -> AuthCredential:
    pair = HttpCredentials(username=user, password=password)
    http = HttpAuth(scheme="basic", credentials=pair, additional_headers={"X-Tenant": "t"})
    return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)


def client(**fields: Any) -> AuthCredential:
    oauth2 = OAuth2Auth(client_id="c", client_secret="c4n4ry-secret", **fields)
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2)


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[str, list[str]]]:
    """A server that refuses each request with its own head; its address, and the heads."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head.decode())
        length = f"Content-Length: {len(head)}\r\nConnection: close\r\n\r\n".encode()
        writer.write(b"HTTP/1.1 401 No\r\nContent-Type: text/plain\r\n" + length + head)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


async def call(security: Any, context: Any = None, **options: Any) -> tuple[str, Any]:
    """Call an operation; return the head that the server got, and the result."""
    async with echoing() as (url, heads):
        toolset = OpenAPIToolset(
            spec_dict=make_operation(security=security, components={"securitySchemes": SCHEMES}),
            base_url=url,
            allow_private_network_access=True,
            **options,
        )
        tool = toolset.get_tool("do_it")
        assert tool is not None
        result = await tool.call(args={}, tool_context=context)
        await toolset.close()
    return (heads[0] if heads else ""), result


@pytest.mark.parametrize(
    ("scheme", "credential", "wanted"),
    [
        ("key", key("k-12345"), "\r\nX-Key: k-12345\r\n"),
        ("app", key("k&1"), "GET /things?app=k%261 "),
        ("sid", key("k 1"), "\r\nCookie: sid=k%201\r\n"),
        ("basic", basic("ann", "pw"), "\r\nAuthorization: Basic YW5uOnB3\r\n"),
        ("basic", basic("ann", "pw"), "\r\nX-Tenant: t\r\n"),
        ("bearer", bearer_credential("t0k3n"), "\r\nAuthorization: Bearer t0k3n\r\n"),
        ("oauth", client(access_token="t0k3n"), "\r\nAuthorization: Bearer t0k3n\r\n"),
    ],
)
async def test_what_is_sent(scheme: str, credential: AuthCredential, wanted: str) -> None:
    head, _ = await call([{scheme: []}], auth_credential=credential)
    assert wanted in head


@pytest.mark.parametrize(
    ("scheme", "credential", "secrets"),
    [
        ("key", key("plain words that look harmless"), ["harmless"]),
        ("app", key("k-12345"), ["k-12345"]),
        ("sid", key("k-12345"), ["k-12345"]),
        ("basic", basic("ann", "pw"), ["YW5uOnB3"]),
        ("bearer", bearer_credential("four words or so"), ["four words"]),
    ],
)
async def test_an_error_shows_no_credential(
    scheme: str, credential: AuthCredential, secrets: list[str]
) -> None:
    head, result = await call([{scheme: []}], auth_credential=credential)
    assert "Status Code: 401" in result["error"]
    for secret in secrets:
        assert secret in head and secret not in result["error"]


async def test_the_log_shows_no_credential(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        head, _ = await call([{"app": []}], auth_credential=key("k-12345"))
    assert "app=k-12345" in head
    assert "HTTP Request: GET" in caplog.text and "k-12345" not in caplog.text


async def test_schemes_that_are_required_together_are_all_sent() -> None:
    head, _ = await call(
        [{"key": [], "app": []}],
        auth_credentials={"key": key("k-1"), "app": key("a-1")},
    )
    assert "X-Key: k-1\r\n" in head and "/things?app=a-1 " in head


async def test_the_alternative_with_credentials_is_chosen() -> None:
    security = [{"oauth": []}, {"key": [], "app": []}, {"sid": []}]
    head, _ = await call(security, auth_credentials={"sid": key("s-1")})
    assert "sid=s-1" in head and "X-Key" not in head
    head, _ = await call([{}, {"sid": []}], auth_credentials={"sid": key("s-1")})
    assert "sid=s-1" in head


async def test_optional_security_is_not_asked_for() -> None:
    head, _ = await call([{}, {"key": []}])
    assert head and "X-Key" not in head


async def test_a_given_scheme_replaces_those_of_the_document() -> None:
    scheme, credential = token_to_scheme_credential("apikey", "header", "X-Other", "o-1")
    head, _ = await call([{"key": [], "app": []}], auth_scheme=scheme, auth_credential=credential)
    assert "X-Other: o-1" in head and "X-Key" not in head


class TheirKey(BaseModel):
    """An API key as FastAPI's models have it."""

    type_: str = Field("apiKey", alias="type")
    in_: str = Field("header", alias="in")
    name: str = "X-Theirs"


async def test_a_scheme_of_another_library_is_accepted() -> None:
    scheme: Any = TheirKey.model_validate({})
    head, _ = await call([{"key": []}], auth_scheme=scheme, auth_credential=key("o-1"))
    assert "X-Theirs: o-1" in head
    parameter, values = credential_to_param(scheme, key("o-1"))
    assert parameter is not None and (parameter.original_name, parameter.param_location) == (
        "X-Theirs",
        "header",
    )
    assert values == {"_auth_prefix_vaf_X-Theirs": "o-1"}


def http(scheme: str, **fields: Any) -> AuthCredential:
    given = HttpAuth(scheme=scheme, credentials=HttpCredentials(**fields))
    return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=given)


PAIR = http("basic", username="u", password="p")
TOKEN = http("Bearer", token="t")


async def test_a_scheme_that_no_operation_requires_may_have_a_credential() -> None:
    head, _ = await call([], auth_credentials={"key": key("k-1")})
    assert head and "X-Key" not in head


@pytest.mark.parametrize(
    ("name", "credential"),
    [
        ("digest", PAIR),
        ("digest", http("digest", username="u", password="p")),
        ("bearer", PAIR),
        ("basic", TOKEN),
        ("basic", key("k-1")),
        ("key", TOKEN),
        ("oauth", key("k-1")),
    ],
)
async def test_a_credential_of_another_kind_is_refused_at_once(
    name: str, credential: AuthCredential
) -> None:
    with pytest.raises(AgentConfigError, match=f"{name}'] has the type"):
        await call([{name: []}], auth_credentials={name: credential})


async def test_two_credentials_in_one_header_are_refused() -> None:
    both = {"basic": PAIR, "bearer": TOKEN}
    with pytest.raises(AgentConfigError, match="'basic', 'bearer' are required together"):
        await call([{"basic": [], "bearer": []}], auth_credentials=both)
    head, _ = await call([{"basic": [], "bearer": []}, {"bearer": []}], auth_credentials=both)
    assert "Authorization: Bearer t\r\n" in head


async def test_one_missing_scheme_of_several_is_asked_for() -> None:
    context = make_context()
    head, result = await call(
        [{"key": [], "app": []}],
        context,
        auth_credentials={"key": key("k-1")},
        credential_key="shop",
    )
    assert not head and result["pending"] is True
    (config,) = context.actions.requested_auth_configs.values()
    assert config.credential_key == "shop:app" and isinstance(config.auth_scheme, APIKey)


async def test_the_user_is_asked_and_answers() -> None:
    context = make_context()
    head, result = await call([{"oauth": []}], context, auth_credential=client())
    assert not head
    assert result == {
        "pending": True,
        "message": "Needs your authorization to access your data.",
    }
    (config,) = context.actions.requested_auth_configs.values()
    assert "c4n4ry" not in config.model_dump_json()
    context.state[f"temp:{config.credential_key}"] = client(access_token="t0k3n")
    head, _ = await call([{"oauth": []}], context, auth_credential=client())
    assert "Authorization: Bearer t0k3n" in head


async def test_a_token_in_the_state_of_a_session_of_google_adk_is_used() -> None:
    scheme = OAuth2.model_validate(OAUTH)
    place = ToolContextCredentialStore(None).get_credential_key(scheme, client())
    assert place.startswith("oauth2_") and place.endswith("_existing_exchanged_credential")
    kept = client(access_token="k3pt").model_dump(exclude_none=True)
    context = make_context(state={place: kept})
    head, _ = await call([{"oauth": []}], context, auth_credential=client())
    assert "Authorization: Bearer k3pt" in head
    assert not context.actions.state_delta


async def test_without_a_context_no_user_can_be_asked() -> None:
    with pytest.raises(ValueError, match="without a tool context no user can be asked"):
        await call([{"oauth": []}], auth_credential=client())


async def test_a_client_is_needed_to_ask() -> None:
    with pytest.raises(ValueError, match="raw_auth_credential"):
        await call([{"oauth": []}], make_context())


@pytest.mark.parametrize("answer", [None, client(access_token="t0k3n")])
async def test_a_stand_in_for_a_context_is_asked_too(answer: Any) -> None:
    context = MagicMock()
    context.state = {}
    context.get_auth_response.return_value = answer
    scheme = OAuth2.model_validate(OAUTH)
    handler = ToolAuthHandler.from_tool_context(context, scheme, client())
    result = await handler.prepare_auth_credentials()
    assert result.state == ("done" if answer else "pending")
    assert context.request_credential.called == (answer is None)


async def test_no_scheme_needs_no_credential() -> None:
    result = await ToolAuthHandler(None, None, None).prepare_auth_credentials()
    assert (result.state, result.auth_credential) == ("done", None)


def test_a_store_keeps_and_removes() -> None:
    context = make_context()
    store = ToolContextCredentialStore(context)
    scheme = OAuth2.model_validate(OAUTH)
    name = store.get_credential_key(scheme, client())
    store.store_credential(name, client(access_token="t"))
    found = store.get_credential(scheme, client())
    assert found is not None and found.oauth2 is not None and found.oauth2.access_token == "t"
    store.remove_credential(name)
    assert store.get_credential(scheme, client()) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (SCHEMES["key"], APIKey),
        ({"type": "http", "scheme": "bearer"}, HTTPBearer),
        ({"type": "http", "scheme": "digest"}, HTTPBase),
        (OAUTH, OAuth2),
        ({"type": "openIdConnect", "openIdConnectUrl": "https://x"}, OpenIdConnect),
    ],
)
def test_schemes_of_documents(data: dict[str, Any], kind: type) -> None:
    assert type(dict_to_auth_scheme(data)) is kind


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "Missing 'type'"),
        ({"type": "magic"}, "Invalid security scheme type: magic"),
        ({"type": "apiKey", "in": "header"}, "Invalid security scheme data"),
    ],
)
def test_schemes_that_are_wrong(data: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        dict_to_auth_scheme(data)


def test_keys_and_tokens() -> None:
    scheme, credential = token_to_scheme_credential("apikey", "query", "k", None)
    assert isinstance(scheme, APIKey) and credential is None
    scheme, credential = token_to_scheme_credential("oauth2Token", credential_value="t")
    parameter, values = credential_to_param(scheme, credential)
    assert parameter is not None and parameter.original_name == "Authorization"
    assert values == {"_auth_prefix_vaf_Authorization": "Bearer t"}
    with pytest.raises(ValueError, match="Invalid location for apiKey: body"):
        token_to_scheme_credential("apikey", "body", "k", "v")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Invalid security scheme type: x"):
        token_to_scheme_credential("x")  # type: ignore[arg-type]


def test_credentials_that_do_not_fit() -> None:
    scheme = HTTPBearer()
    assert credential_to_param(scheme, None) == (None, None)
    with pytest.raises(ValueError, match="'apiKey' does not fit the security scheme HTTPBearer"):
        credential_to_param(scheme, key("k"))
    empty = AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials()),
    )
    with pytest.raises(ValueError, match="Invalid HTTP auth credentials"):
        credential_to_param(scheme, empty)


def test_openid_clients() -> None:
    config = {"authorization_endpoint": "https://a", "token_endpoint": "https://t"}
    given = {"web": {"client_id": "c", "client_secret": "s", "redirect_uri": "https://r"}}
    scheme, credential = openid_dict_to_scheme_credential(config, ["openid"], given)
    assert scheme.scopes == ["openid"] and credential.oauth2 is not None
    assert credential.oauth2.redirect_uri == "https://r" and "scopes" not in config
    with pytest.raises(ValueError, match=r"Missing required fields .*: client_secret"):
        openid_dict_to_scheme_credential(config, [], {"client_id": "c", "x": 1})
    with pytest.raises(ValueError, match="Invalid OpenID Connect configuration"):
        openid_dict_to_scheme_credential({}, [], {})


async def test_openid_clients_by_address() -> None:
    body = {"authorization_endpoint": "https://a", "token_endpoint": "https://t"}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        text = json.dumps(body) if "/good" in head else "no"
        answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        writer.write((answer + text).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client_of = {"client_id": "c", "client_secret": "s"}
    scheme, _ = await asyncio.to_thread(
        openid_url_to_scheme_credential, f"{url}/good", [], client_of
    )
    assert scheme.token_endpoint == "https://t"
    with pytest.raises(ValueError, match="Invalid JSON response"):
        await asyncio.to_thread(openid_url_to_scheme_credential, f"{url}/bad", [], client_of)
    server.close()
    await server.wait_closed()
    with pytest.raises(ValueError, match="Failed to fetch OpenID configuration"):
        await asyncio.to_thread(openid_url_to_scheme_credential, f"{url}/good", [], client_of)


def test_exchangers() -> None:
    scheme, exchanger = OAuth2.model_validate(OAUTH), OAuth2CredentialExchanger()
    found = exchanger.exchange_credential(scheme, client(access_token="t"))
    assert found is not None and found.http is not None and found.http.credentials.token == "t"
    assert exchanger.exchange_credential(scheme, client()) is None
    assert exchanger.exchange_credential(scheme, found) is found
    for wrong in ((scheme, None), (scheme, key("k")), (HTTPBearer(), client())):
        with pytest.raises(ValueError, match=r"auth_credential|security scheme"):
            exchanger.exchange_credential(*wrong)


def test_the_exchanger_of_a_type_can_be_replaced() -> None:
    class Mine(BaseAuthCredentialExchanger):
        def exchange_credential(self, auth_scheme: Any, auth_credential: Any = None) -> Any:
            return bearer_credential("mine")

    auto = AutoAuthCredentialExchanger({AuthCredentialTypes.OAUTH2: Mine})
    found = auto.exchange_credential(HTTPBearer(), client())
    assert found is not None and found.http is not None
    assert found.http.credentials.token == "mine"
    assert auto.exchange_credential(HTTPBearer(), None) is None
    assert auto.exchange_credential(HTTPBearer(), key("k")) == key("k")


async def test_service_accounts() -> None:
    scheme, credential = service_account_dict_to_scheme_credential({"client_email": "e"}, ["s"])
    assert isinstance(scheme, HTTPBearer)
    exchanger = ServiceAccountCredentialExchanger()
    with pytest.raises(AuthCredentialMissingError, match="are missing"):
        exchanger.exchange_credential(scheme, None)
    assert credential.service_account is not None
    bare = ServiceAccount.model_copy(credential.service_account, update={"scopes": None})
    with pytest.raises(AuthCredentialMissingError, match="needs scopes"):
        exchanger.exchange_credential(
            scheme, credential.model_copy(update={"service_account": bare})
        )
