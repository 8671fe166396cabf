"""The tools that Gemini's service runs: what they add to a request, and for which models."""

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.errors import AgentConfigError
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import Conversation, ScriptedModel
from ostinato.tools import (
    DiscoveryEngineSearchTool,
    VertexAiSearchTool,
    enterprise_web_search,
    google_maps_grounding,
    google_search,
    url_context,
)
from ostinato.tools.google_search_tool import GoogleSearchTool
from tests.unit.tools.contexts import make_context

STORE = VertexAiSearchTool(data_store_id="store", filter="a", max_results=3)
TOOLS: dict[str, Any] = {
    "google_search": google_search,
    "enterprise_web_search": enterprise_web_search,
    "google_maps": google_maps_grounding,
    "url_context": url_context,
    "retrieval": STORE,
}
VERTEX = "projects/p/locations/l/publishers/google/models/"


async def added(tool: Any, model: str | None, *, beside: bool = False) -> list[dict[str, Any]]:
    """Return the tools of a request after `tool` has worked on it."""
    request = LlmRequest(model=model)
    other = types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])
    request.config.tools = [other] if beside else None
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    return [tool.to_json_dict() for tool in request.config.tools or []]


@pytest.mark.spec(129)
@pytest.mark.parametrize("field", TOOLS)
@pytest.mark.parametrize(
    "model", ["gemini-2.0-flash", "gemini-3-pro", f"{VERTEX}gemini-2.5-pro", "models/gemini-10"]
)
async def test_newer_models_take_them_beside_others(field: str, model: str) -> None:
    shown = await added(TOOLS[field], model, beside=True)
    assert [list(tool) for tool in shown] == [["function_declarations"], [field]]


@pytest.mark.parametrize("field", TOOLS)
@pytest.mark.parametrize(
    "model", ["gpt-9", "gemini", "", None, "vertex_ai/gemini-2.5", "x/gemini-2"]
)
async def test_other_models_are_refused(field: str, model: str | None) -> None:
    with pytest.raises(ValueError, match=f"not supported for model {model}"):
        await added(TOOLS[field], model)


@pytest.mark.parametrize("field", TOOLS)
@pytest.mark.parametrize("model", ["my-own-name", "", None, "gemini-pro"])
async def test_all_models_take_them_while_the_check_of_names_is_disabled(
    field: str, model: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_DISABLE_GEMINI_MODEL_ID_CHECK", "true")
    shown = await added(TOOLS[field], model, beside=True)
    assert [list(tool) for tool in shown] == [["function_declarations"], [field]]


@pytest.mark.parametrize("field", ["google_maps", "url_context"])
@pytest.mark.parametrize("model", ["gemini-1.5-flash", f"{VERTEX}gemini-1.5-pro"])
async def test_some_are_not_for_the_first_generation(field: str, model: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be used in Gemini 1\.x"):
        await added(TOOLS[field], model)


@pytest.mark.parametrize("field", ["google_search", "enterprise_web_search", "retrieval"])
async def test_others_are_for_it_alone(field: str) -> None:
    name = "google_search_retrieval" if field == "google_search" else field
    assert [list(tool) for tool in await added(TOOLS[field], "gemini-1.5-flash")] == [[name]]
    with pytest.raises(ValueError, match=r"cannot be used with other tools in Gemini 1\.x"):
        await added(TOOLS[field], "gemini-1.5-flash", beside=True)


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gemini-1-pro", False),
        ("gemini-2x", False),
        ("gemini-flash-latest", True),
        ("gemini-pro-early-exp", True),
    ],
)
async def test_url_context_needs_a_known_version(model: str, takes: bool) -> None:
    assert await added(google_search, model)
    if takes:
        assert await added(url_context, model)
    else:
        with pytest.raises(ValueError, match="needs Gemini 2"):
            await added(url_context, model)


@pytest.mark.parametrize("model", ["apigee/gemini-2.5-pro", "apigee/gemini/v1/gemini-2.5-pro"])
async def test_models_behind_a_proxy(model: str) -> None:
    assert await added(url_context, model)


@pytest.mark.spec(129)
async def test_search_may_name_its_model() -> None:
    request = LlmRequest(model="gpt-9")
    tool = GoogleSearchTool(model="gemini-2.5-flash", bypass_multi_tools_limit=True)
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    assert request.model == "gemini-2.5-flash"
    assert tool.bypass_multi_tools_limit


@pytest.mark.spec(129)
async def test_what_vertex_searches() -> None:
    (tool,) = await added(STORE, "gemini-2.5-pro")
    found = {"datastore": "store", "filter": "a", "max_results": 3}
    assert tool == {"retrieval": {"vertex_ai_search": found}}

    class Chosen(VertexAiSearchTool):
        def _build_vertex_ai_search_config(self, readonly_context: Any) -> types.VertexAISearch:
            return types.VertexAISearch(engine=readonly_context.agent_name)

    (tool,) = await added(Chosen(search_engine_id="e"), "gemini-2.5-pro")
    assert tool == {"retrieval": {"vertex_ai_search": {"engine": "caller"}}}


async def test_vertex_search_beside_other_tools_may_be_a_function() -> None:
    search = VertexAiSearchTool(
        data_store_id="store", filter="a", max_results=3, bypass_multi_tools_limit=True
    )
    agent = Agent(name="clerk", model="gemini-2.5-flash", tools=[search, url_context])
    first, other = await agent.canonical_tools()
    assert type(first) is DiscoveryEngineSearchTool and other is url_context
    assert first.name == "discovery_engine_search"
    assert (await agent.canonical_tools())[0] is first
    alone = Agent(name="clerk", model="gemini-2.5-flash", tools=[search])
    assert await alone.canonical_tools() == [search]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"data_store_id": "a", "search_engine_id": "b"},
        {"data_store_specs": [types.VertexAISearchDataStoreSpec(data_store="a")]},
        {
            "data_store_id": "a",
            "data_store_specs": [types.VertexAISearchDataStoreSpec(data_store="a")],
        },
    ],
)
def test_what_vertex_needs(wrong: dict[str, Any]) -> None:
    with pytest.raises(AgentConfigError, match="search_engine_id"):
        VertexAiSearchTool(**wrong)


@pytest.mark.spec(129)
async def test_a_run_with_one() -> None:
    model = ScriptedModel(["Found."], model="gemini-2.5-flash")
    talk = Conversation(Agent(name="root", model=model, tools=[google_search]))
    await talk.say("Search")
    assert talk.text == "Found."
    assert model.requests[0].config.tools == [types.Tool(google_search=types.GoogleSearch())]
