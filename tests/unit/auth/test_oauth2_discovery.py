"""Endpoints are found from a server's address; what is no discovery document is not believed."""

import asyncio
from typing import Any

import pytest

from ostinato.auth import oauth2_discovery
from ostinato.auth._scheme_discovery import complete_scheme
from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_schemes import (
    ExtendedOAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlowClientCredentials,
    OAuthFlows,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)
from ostinato.auth.oauth2_discovery import (
    AuthorizationServerMetadata,
    OAuth2DiscoveryManager,
    ProtectedResourceMetadata,
)
from ostinato.errors import InputValidationError
from tests.unit.auth.identity_provider import IdentityProvider
from tests.unit.auth.kit import config_of, oauth2_of

OPENID = "/.well-known/openid-configuration"
SERVER = "/.well-known/oauth-authorization-server"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", [SERVER, OPENID]),
        ("/", [SERVER, OPENID]),
        ("/tenant", [SERVER + "/tenant", OPENID + "/tenant", "/tenant" + OPENID]),
    ],
)
async def test_well_known_places_in_order(
    idp: IdentityProvider, path: str, asked: list[str]
) -> None:
    idp.documents.clear()
    assert await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url + path) is None
    assert idp.paths == asked


async def test_server_says_where_its_endpoints_are(idp: IdentityProvider) -> None:
    found = await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url)
    assert found == AuthorizationServerMetadata(**idp.metadata())


@pytest.mark.parametrize(
    "document",
    [b"<html>", b"[1]", b"\xff\xfe", b"{}", b'"' + b"x" * 1_100_000 + b'"', {"issuer": "x"}],
)
async def test_what_is_no_document_is_not_one(idp: IdentityProvider, document: Any) -> None:
    idp.documents[OPENID] = document
    assert await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url) is None


async def test_document_of_another_issuer_is_not_believed(idp: IdentityProvider) -> None:
    idp.documents[OPENID] = idp.metadata(issuer="https://evil.example")
    assert await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url) is None


@pytest.mark.parametrize("name", ["token_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize(
    "place", ["http://idp.example/token", "/token", "file:///token", "http://["]
)
async def test_documents_with_endpoints_that_are_not_https(
    idp: IdentityProvider, name: str, place: str
) -> None:
    idp.documents[OPENID] = {**idp.metadata(), name: place}
    assert await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url) is None
    scheme = OpenIdConnect(openIdConnectUrl=idp.url + OPENID)
    assert await complete_scheme(scheme) is scheme


async def test_an_open_id_document_of_another_origin_is_not_believed(idp: IdentityProvider) -> None:
    scheme = OpenIdConnect(openIdConnectUrl=idp.url + OPENID)
    idp.documents[OPENID] = idp.metadata(issuer="https://evil.example")
    assert await complete_scheme(scheme) is scheme
    idp.documents[OPENID] = idp.metadata(issuer=idp.url + "/{tenantid}/v2.0")
    assert isinstance(await complete_scheme(scheme), OpenIdConnectWithConfig)


@pytest.mark.parametrize("address", ["http://idp.example", "http://10.0.0.1:8080/tenant"])
async def test_discovery_over_http_connects_to_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    def connect(*args: Any, **options: Any) -> Any:
        raise AssertionError("it made a client")

    monkeypatch.setattr("httpx2.AsyncClient", connect)
    manager = OAuth2DiscoveryManager()
    assert await manager.discover_auth_server_metadata(address) is None
    assert await manager.discover_resource_metadata(address) is None


@pytest.mark.parametrize(
    "address", ["", "no address", "ftp://x", "file:///etc/passwd", "http://[x"]
)
async def test_what_is_no_address_is_not_asked(address: str) -> None:
    manager = OAuth2DiscoveryManager()
    assert await manager.discover_auth_server_metadata(address) is None
    assert await manager.discover_resource_metadata(address) is None


async def test_slow_server_is_given_up(
    idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth2_discovery, "TIMEOUT_SECONDS", 0.0)
    assert await OAuth2DiscoveryManager().discover_auth_server_metadata(idp.url) is None


async def test_resource_names_its_servers(idp: IdentityProvider) -> None:
    place = "/.well-known/oauth-protected-resource/api"
    answer = {"resource": idp.url + "/api", "authorization_servers": [idp.url]}
    idp.documents[place] = answer
    manager = OAuth2DiscoveryManager()
    found = await manager.discover_resource_metadata(idp.url + "/api")
    assert found == ProtectedResourceMetadata(**answer)
    idp.documents[place] = {**answer, "resource": idp.url + "/other"}
    assert await manager.discover_resource_metadata(idp.url + "/api") is None


async def test_open_id_scheme_gets_its_endpoints_once(idp: IdentityProvider) -> None:
    scheme = OpenIdConnect(openIdConnectUrl=idp.url + OPENID)
    found = await complete_scheme(scheme)
    assert isinstance(found, OpenIdConnectWithConfig)
    assert (found.authorization_endpoint, found.token_endpoint) == (
        idp.authorize_url,
        idp.token_url,
    )
    assert found.scopes == ["openid"]
    assert await complete_scheme(scheme) == found
    assert idp.paths == [OPENID]


async def test_scheme_with_an_issuer_gets_what_it_lacks(idp: IdentityProvider) -> None:
    scheme = ExtendedOAuth2(
        issuer_url=idp.url,
        flows=OAuthFlows(
            authorizationCode=OAuthFlowAuthorizationCode(
                authorizationUrl="https://own.example", tokenUrl=""
            ),
            clientCredentials=OAuthFlowClientCredentials(tokenUrl=""),
        ),
    )
    found = await complete_scheme(scheme)
    assert isinstance(found, ExtendedOAuth2)
    assert found.flows.authorizationCode is not None
    assert found.flows.authorizationCode.authorizationUrl == "https://own.example"
    assert found.flows.authorizationCode.tokenUrl == idp.token_url
    assert found.flows.clientCredentials is not None
    assert found.flows.clientCredentials.tokenUrl == idp.token_url
    assert scheme.flows.clientCredentials is not None
    assert scheme.flows.clientCredentials.tokenUrl == ""


@pytest.mark.parametrize("in_a_loop", [True, False])
def test_plain_code_may_ask_for_consent_too(idp: IdentityProvider, in_a_loop: bool) -> None:
    config = config_of(OpenIdConnect(openIdConnectUrl=idp.url + OPENID))

    async def ask() -> Any:
        return AuthHandler(config).generate_auth_uri()

    credential = asyncio.run(ask()) if in_a_loop else AuthHandler(config).generate_auth_uri()
    assert (oauth2_of(credential).auth_uri or "").startswith(idp.authorize_url)


def test_consent_without_an_endpoint_says_what_to_give(idp: IdentityProvider) -> None:
    idp.documents.clear()
    config = config_of(OpenIdConnect(openIdConnectUrl=idp.url + OPENID))
    with pytest.raises(InputValidationError, match="OpenIdConnectWithConfig"):
        AuthHandler(config).generate_auth_uri()
