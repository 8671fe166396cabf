"""DiscoveryEngineSearchTool: what it asks, as whom, and what it makes of the answers."""

import json
from typing import Any

import httpx2
import pytest

from ostinato import types
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)
from ostinato.auth.exchanger import service_account_credential_exchanger as exchanger
from ostinato.errors import AgentConfigError
from ostinato.tools import DiscoveryEngineSearchTool, SearchResultMode
from tests.unit.tools.contexts import make_context

STORE = "projects/p/locations/eu/collections/c/dataStores/s"
PIECE = {"chunk": {"content": "Six.", "documentMetadata": {"title": "Tides", "uri": "u"}}}
DOCUMENT = {
    "document": {
        "derivedStructData": {
            "title": "Tides",
            "link": "u",
            "extractive_answers": [{"content": "Six."}, {"content": "Seven."}],
        }
    }
}
NEEDS_DOCUMENTS = {"error": {"message": "content_search_spec.search_result_mode must be DOCUMENTS"}}


class Service:
    """Vertex AI Search, and what it was asked."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = [*answers]
        self.requests: list[httpx2.Request] = []
        self.logins = 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        status, body = self.answers.pop(0)
        return httpx2.Response(status, json=body)

    def log_in(self, _: object) -> AuthCredential:
        self.logins += 1
        http = HttpAuth(
            scheme="bearer",
            credentials=HttpCredentials(token="t"),
            additional_headers={"x-goog-user-project": "p"},
        )
        ends = OAuth2Auth(expires_at=4_102_444_800)
        return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http, oauth2=ends)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made, client = Service(), httpx2.AsyncClient
    transport = httpx2.MockTransport(made.answer)
    monkeypatch.setattr(httpx2, "AsyncClient", lambda **_: client(transport=transport))
    monkeypatch.setattr(exchanger, "fetch_machine_credential", made.log_in)
    return made


async def search(tool: DiscoveryEngineSearchTool) -> Any:
    return await tool.run_async(args={"query": "tides"}, tool_context=make_context())


async def test_a_search_returns_title_address_and_content(service: Service) -> None:
    service.answers += [(200, {"results": [PIECE]}), (200, {})]
    tool = DiscoveryEngineSearchTool(data_store_id=STORE, filter="a", max_results=3)
    found = [{"title": "Tides", "url": "u", "content": "Six."}]
    assert await search(tool) == {"status": "success", "results": found}
    assert await search(tool) == {"status": "success", "results": []}
    request = service.requests[0]
    assert str(request.url) == (
        f"https://eu-discoveryengine.googleapis.com/v1beta/{STORE}/servingConfigs/"
        "default_config:search"
    )
    assert request.headers["authorization"] == "Bearer t"
    assert request.headers["x-goog-user-project"] == "p"
    assert service.bodies[0] == {
        "query": "tides",
        "contentSearchSpec": {
            "searchResultMode": "CHUNKS",
            "chunkSpec": {"numPreviousChunks": 0, "numNextChunks": 0},
        },
        "filter": "a",
        "pageSize": 3,
    }
    assert service.logins == 1


async def test_a_store_of_documents_is_found_out_once(service: Service) -> None:
    service.answers += [(400, NEEDS_DOCUMENTS), *[(200, {"results": [DOCUMENT]})] * 2]
    specs = [types.VertexAISearchDataStoreSpec(data_store="d")]
    tool = DiscoveryEngineSearchTool(search_engine_id="app", data_store_specs=specs)
    for _ in range(2):
        (one,) = (await search(tool))["results"]
        assert one == {"title": "Tides", "url": "u", "content": "Six.\nSeven."}
    modes = [body["contentSearchSpec"]["searchResultMode"] for body in service.bodies]
    assert modes == ["CHUNKS", "DOCUMENTS", "DOCUMENTS"]
    assert service.bodies[0]["dataStoreSpecs"] == [{"dataStore": "d"}]
    assert service.requests[0].url.host == "discoveryengine.googleapis.com"


async def test_a_mode_that_was_chosen_stays(service: Service) -> None:
    service.answers.append((400, NEEDS_DOCUMENTS))
    tool = DiscoveryEngineSearchTool(
        data_store_id="store", search_result_mode=SearchResultMode.CHUNKS, location="us"
    )
    answer = await search(tool)
    assert answer["status"] == "error" and "DOCUMENTS" in answer["error_message"]
    assert service.requests[0].url.host == "us-discoveryengine.googleapis.com"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(403, {"error": {"message": "denied"}}, "denied"), (500, {}, "failed")],
)
async def test_a_refused_search_is_told(
    service: Service, status: int, body: Any, said: str
) -> None:
    service.answers.append((status, body))
    answer = await search(DiscoveryEngineSearchTool(data_store_id=STORE))
    assert answer["status"] == "error" and said in answer["error_message"]
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"data_store_id": "a", "search_engine_id": "b"},
        {"data_store_id": "a", "data_store_specs": []},
        {"data_store_id": "a", "location": "evil.example/"},
    ],
)
def test_what_cannot_be_searched_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(AgentConfigError, match="DiscoveryEngineSearchTool"):
        DiscoveryEngineSearchTool(**wrong)
