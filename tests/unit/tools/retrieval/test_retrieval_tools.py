"""Tools that find texts: by a retriever, in files, and in corpora of Vertex AI."""

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import google.auth
import httpx2
import pytest
from google.oauth2.credentials import Credentials

from ostinato import types
from ostinato.errors import AgentConfigError, MissingExtraError
from ostinato.models.llm_request import LlmRequest
from ostinato.tools.retrieval import (
    BaseRetrievalTool,
    FilesRetrieval,
    LlamaIndexRetrieval,
    VertexAiRagRetrieval,
)
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context

ABOUT: dict[str, Any] = {"name": "look_up", "description": "Looks up."}
CORPUS = "projects/p/locations/europe-west4/ragCorpora/7"


class Retriever:
    """A retriever of LlamaIndex, and what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.queries = texts, list[str]()

    def retrieve(self, query: str) -> list[Any]:
        self.queries.append(query)
        return [SimpleNamespace(text=text) for text in self.texts]


async def run(tool: BaseRetrievalTool, **args: Any) -> Any:
    return await tool.run_async(args=args, tool_context=make_context())


def test_the_model_is_asked_for_a_query() -> None:
    declaration = BaseRetrievalTool(**ABOUT)._get_declaration()
    assert (declaration.name, declaration.description) == ("look_up", "Looks up.")
    assert present(declaration.parameters_json_schema)["properties"]["query"]["type"] == "string"


async def test_the_best_text_is_returned() -> None:
    retriever = Retriever("best", "second")
    assert await run(LlamaIndexRetrieval(**ABOUT, retriever=retriever), query="q") == "best"
    assert retriever.queries == ["q"]


async def test_nothing_found_is_said() -> None:
    found = await run(LlamaIndexRetrieval(**ABOUT, retriever=Retriever()), query="q")
    assert found.startswith("No matching text")


@pytest.mark.parametrize("args", [{}, {"query": 5}])
async def test_a_call_without_a_query_is_reported(args: dict[str, Any]) -> None:
    for tool in (
        LlamaIndexRetrieval(**ABOUT, retriever=Retriever()),
        VertexAiRagRetrieval(**ABOUT, rag_corpora=[CORPUS]),
    ):
        assert "\nquery\n" in (await run(tool, **args))["error"]


async def test_files_are_indexed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Index:
        @staticmethod
        def from_documents(documents: Any, *, embed_model: Any) -> Any:
            seen.append((documents, embed_model))
            return SimpleNamespace(as_retriever=lambda: Retriever("found"))

    core: Any = ModuleType("llama_index.core")
    core.VectorStoreIndex = Index
    core.SimpleDirectoryReader = lambda folder: SimpleNamespace(load_data=lambda: [folder])
    google_genai: Any = ModuleType("llama_index.embeddings.google_genai")
    google_genai.GoogleGenAIEmbedding = lambda **settings: settings
    for module in (ModuleType("llama_index"), core, ModuleType("llama_index.embeddings")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, google_genai.__name__, google_genai)
    tool = FilesRetrieval(**ABOUT, input_dir="docs", embedding_model="mine")
    assert await run(tool, query="q") == "found" and tool.input_dir == "docs"
    FilesRetrieval(**ABOUT, input_dir="docs")
    gemini = {"model_name": "gemini-embedding-2-preview", "embed_batch_size": 1}
    assert seen == [(["docs"], "mine"), (["docs"], gemini)]


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("llama_index.core", "pip install llama-index-core llama-index-readers-file"),
        ("llama_index.embeddings.google_genai", "pip install llama-index-embeddings-google-genai"),
    ],
)
def test_a_missing_package_is_named(
    missing: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("llama_index", "llama_index.core", "llama_index.embeddings"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.delitem(sys.modules, missing, raising=False)
    with pytest.raises(MissingExtraError, match=package):
        FilesRetrieval(**ABOUT, input_dir="docs")


class Rag:
    """Vertex AI's RAG Engine, and what it was asked."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answer = httpx2.Response(200, json={"contexts": {"contexts": [{"text": "six"}]}})

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return self.answer


@pytest.fixture
def rag(monkeypatch: pytest.MonkeyPatch) -> Rag:
    made, client = Rag(), httpx2.Client
    transport = httpx2.MockTransport(made.respond)
    monkeypatch.setattr(httpx2, "Client", lambda **_: client(transport=transport))
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t"), "p"))
    return made


async def test_a_corpus_is_asked_over_rest(rag: Rag) -> None:
    tool = VertexAiRagRetrieval(
        **ABOUT, rag_corpora=[CORPUS], similarity_top_k=3, vector_distance_threshold=0.6
    )
    assert await run(tool, query="tides") == ["six"]
    (request,) = rag.requests
    assert str(request.url) == (
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4"
        ":retrieveContexts"
    )
    assert json.loads(request.content) == {
        "vertexRagStore": {"ragResources": [{"ragCorpus": CORPUS}]},
        "query": {
            "text": "tides",
            "ragRetrievalConfig": {"topK": 3, "filter": {"vectorDistanceThreshold": 0.6}},
        },
    }


async def test_files_of_a_corpus_are_asked_for(rag: Rag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-central1")
    resource = SimpleNamespace(rag_corpus="7", rag_file_ids=["a"])
    await run(VertexAiRagRetrieval(**ABOUT, rag_resources=[resource]), query="q")
    corpus = "projects/p/locations/us-central1/ragCorpora/7"
    assert json.loads(rag.requests[0].content)["vertexRagStore"]["ragResources"] == [
        {"ragCorpus": corpus, "ragFileIds": ["a"]}
    ]


async def test_an_empty_answer_and_a_refusal_are_reported(rag: Rag) -> None:
    tool = VertexAiRagRetrieval(**ABOUT, rag_corpora=[CORPUS])
    rag.answer = httpx2.Response(200, json={})
    assert (await run(tool, query="q")).startswith("No matching result found with the config: ")
    rag.answer = httpx2.Response(403, json={"error": {"message": "No."}})
    assert await run(tool, query="q") == {"error": "Vertex AI RAG Engine answered 403: No."}


async def test_a_corpus_without_a_place_is_the_developers_error(
    rag: Rag, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    with pytest.raises(AgentConfigError, match="'look_up': the corpus '7' names no project"):
        await run(VertexAiRagRetrieval(**ABOUT, rag_corpora=["7"]), query="q")
    assert rag.requests == []


@pytest.mark.parametrize(("model", "is_built_in"), [("gemini-2.5-flash", True), ("gpt-5", False)])
async def test_gemini_searches_itself(model: str, is_built_in: bool) -> None:
    request = LlmRequest(model=model)
    tool = VertexAiRagRetrieval(**ABOUT, rag_corpora=[CORPUS], similarity_top_k=2)
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    (added,) = request.config.tools or []
    assert isinstance(added, types.Tool)
    if is_built_in:
        assert added.retrieval is not None
        assert added.retrieval.vertex_rag_store == tool.vertex_rag_store
    else:
        assert added.function_declarations is not None
        assert added.function_declarations[0].name == "look_up"
