"""What the adapter sends, to the Developer API and to Vertex AI, and what it costs."""

from __future__ import annotations

import cProfile
import pstats
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import ModelAuthError, ModelRequestError
from ostinato.models.google_llm import Gemini
from ostinato.models.llm_request import LlmRequest
from ostinato.planners.built_in_planner import BuiltInPlanner
from ostinato.tools.google_maps_grounding_tool import google_maps_grounding
from ostinato.tools.google_search_tool import google_search
from ostinato.tools.url_context_tool import url_context
from ostinato.tools.vertex_ai_search_tool import VertexAiSearchTool
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.gemini.conftest import ask, request, run
from tests.wire.gemini.script import KEY, answers, candidate, llm
from tests.wire.turns import Turn

HI = [Turn(text="Hi")]
SETTINGS: dict[str, Any] = {
    "system_instruction": "Be brief",
    "temperature": 0.5,
    "max_output_tokens": 9,
    "stop_sequences": ["x"],
    "safety_settings": [
        types.SafetySetting(
            category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
            threshold=types.HarmBlockThreshold.BLOCK_NONE,
        )
    ],
    "labels": {"team": "a"},
    "response_modalities": ["TEXT", "IMAGE"],
    "thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=5),
}


class Credentials:
    """What google-auth would have found, without a network."""

    token, expired, quota_project_id, valid = "vertex-token", False, None, True
    universe_domain = "googleapis.com"

    def refresh(self, request: Any) -> None:
        raise AssertionError("there is nothing to refresh")


def vertex(url: str, **fields: Any) -> Gemini:
    options = {"project": "p", "location": "l", "credentials": Credentials(), **fields}
    return Gemini(model="gemini-2.5-flash", base_url=url, vertexai=True, **options)


async def sent(llm_request: LlmRequest) -> dict[str, Any]:
    async with FakeServer(answers(HI, stream=False)) as server:
        await ask(llm(server.url), llm_request)
    return server.requests[0].json


async def test_settings_reach_the_developer_api_without_labels() -> None:
    body = await sent(request("hello", **SETTINGS))
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hello"}]}]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief"}]
    settings = body["generationConfig"]
    assert (settings["temperature"], settings["maxOutputTokens"]) == (0.5, 9)
    assert settings["stopSequences"] == ["x"] and settings["responseModalities"] == [
        "TEXT",
        "IMAGE",
    ]
    thinking = settings["thinkingConfig"]
    assert thinking.get("includeThoughts", thinking.get("include_thoughts")) is True
    assert body["safetySettings"][0]["threshold"] == "BLOCK_NONE"
    assert "labels" not in body


async def test_key_path_and_model() -> None:
    async with FakeServer(answers(HI, stream=False)) as server:
        await ask(llm(server.url))
    received = server.requests[0]
    assert received.path.endswith("/models/gemini-2.5-flash:generateContent")
    assert received.headers["x-goog-api-key"] == KEY
    assert "x-server-timeout" not in received.headers


async def test_vertex_ai_by_credentials() -> None:
    async with FakeServer(answers(HI, stream=False)) as server:
        media = types.Blob(data=b"1", mime_type="image/png", display_name="n")
        contents = [types.Content(role="user", parts=[types.Part(inline_data=media)])]
        await ask(vertex(server.url), request(contents=contents, labels={"team": "a"}))
    received = server.requests[0]
    where = "/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent"
    assert received.path.endswith(where)
    assert received.headers["authorization"] == "Bearer vertex-token"
    assert received.json["labels"] == {"team": "a"}
    assert received.json["contents"][0]["parts"][0]["inlineData"]["displayName"] == "n"


async def test_vertex_ai_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "here")
    async with FakeServer(answers(HI, stream=False)) as server:
        model = Gemini(base_url=server.url, credentials=Credentials())
        await ask(model)
    assert "/projects/mine/locations/here/" in server.requests[0].path


async def test_vertex_ai_login_that_is_refused() -> None:
    from google.auth.exceptions import RefreshError

    class Gone(Credentials):
        token, expired, valid = None, True, False

        def refresh(self, request: Any) -> None:
            raise RefreshError("revoked")

    async with FakeServer() as server:
        with pytest.raises(ModelAuthError, match="revoked"):
            await ask(vertex(server.url, credentials=Gone()))


@pytest.mark.parametrize(
    ("model", "vertexai", "expected"),
    [
        ("gemini-2.5-flash", False, False),
        ("gemini-2.5-flash", True, True),
        ("gemini-3-pro-preview", False, True),
        ("models/gemini-3.5-flash", False, True),
        ("gemini-flash-latest", False, True),
        ("projects/p/locations/l/publishers/google/models/gemini-2.0-flash", None, True),
        ("gemini-1.5-pro", True, False),
    ],
)
def test_structured_output_with_tools(model: str, vertexai: bool | None, expected: bool) -> None:
    assert Gemini(model=model, vertexai=vertexai).supports_output_schema_with_tools is expected


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        (google_search, "googleSearch"),
        (url_context, "urlContext"),
        (google_maps_grounding, "googleMaps"),
    ],
)
async def test_tools_that_the_service_runs_pass_through(tool: Any, key: str) -> None:
    async with FakeServer(answers(HI, stream=False)) as server:
        await run(llm(server.url), tool)
    assert server.requests[0].json["tools"] == [{key: {}}]


async def test_vertex_search_passes_through() -> None:
    async with FakeServer(answers(HI, stream=False)) as server:
        await run(vertex(server.url), VertexAiSearchTool(data_store_id="projects/p/d"))
    (tool,) = server.requests[0].json["tools"]
    assert "'datastore': 'projects/p/d'" in str(tool["retrieval"])


async def test_a_planner_turns_thinking_on() -> None:
    planner = BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True))
    async with FakeServer(answers(HI, stream=False)) as server:
        await run(llm(server.url), planner=planner)
    assert "thinkingConfig" in server.requests[0].json["generationConfig"]


async def test_declared_functions_reach_the_service() -> None:
    def book(city: str, seats: int = 1) -> str:
        """Book a trip."""
        return city

    async with FakeServer(answers(HI, stream=False)) as server:
        await run(llm(server.url), book)
    (declared,) = server.requests[0].json["tools"][0]["functionDeclarations"]
    assert declared["name"] == "book" and declared["description"] == "Book a trip."
    assert "city" in str(declared)


def session(size: int) -> list[types.Content]:
    roles = ("user", "model")
    return [
        types.Content(role=roles[i % 2], parts=[types.Part(text=f"words {i}")]) for i in range(size)
    ]


async def test_a_long_history_costs_no_more_than_a_short_one() -> None:
    async def calls(model: Gemini, history: list[types.Content]) -> int:
        profile = cProfile.Profile()
        asked = request(contents=[*history, types.UserContent("now")])
        profile.enable()
        [_ async for _ in model.generate_content_async(asked)]
        profile.disable()
        counted: Any = pstats.Stats(profile)
        return counted.total_calls

    history = session(3000)
    async with FakeServer([Answer(candidate({"text": "x"}, finish="STOP"))] * 5) as server:
        model = llm(server.url)
        assert isinstance(model, Gemini)
        for known in (session(2), history):  # the first request converts, and opens the client
            await calls(model, known)
        short = min([await calls(model, session(2)) for _ in range(2)])
        long = await calls(model, history)
        await model.aclose()
    assert len(server.requests[-1].json["contents"]) == 3001
    # A look-up per content that is known already, and nothing of it validated or copied again.
    assert long - short < 4 * len(history) + 2000


async def test_a_request_leaves_the_history_as_it_is() -> None:
    history = session(4)
    before = [content.model_dump() for content in history]
    async with FakeServer(answers(HI * 2, stream=False)) as server:
        model = llm(server.url)
        asked = request(contents=[*history, types.UserContent("now")])
        [_ async for _ in model.generate_content_async(asked)]
        await ask(model, asked)
    assert [content.model_dump() for content in history] == before
    assert server.requests[0].body == server.requests[1].body


async def test_ids_of_calls_that_were_made_here_are_not_sent() -> None:
    contents = [
        types.UserContent("Look"),
        types.ModelContent(
            [types.Part(function_call=types.FunctionCall(id=i, name="f")) for i in ("adk-1", "c2")]
        ),
        types.UserContent(
            [
                types.Part(function_response=types.FunctionResponse(id=i, name="f", response={}))
                for i in ("adk-1", "c2")
            ]
        ),
    ]
    body = await sent(request(contents=contents))
    calls, results = (content["parts"] for content in body["contents"][1:])
    assert [part["functionCall"].get("id") for part in calls] == [None, "c2"]
    assert [part["functionResponse"].get("id") for part in results] == [None, "c2"]


async def test_parts_and_contents_that_say_nothing_are_left_out() -> None:
    signed = types.Part(text="", thought_signature=b"s")
    body = await sent(
        request(
            contents=[
                types.Content(role="user", parts=[types.Part(text=""), types.Part(text="Hi")]),
                types.Content(role="model", parts=[types.Part(text="")]),
                types.Content(role="model", parts=[signed]),
                types.Content(role="user", parts=[]),
                types.UserContent("there?"),
            ]
        )
    )
    assert [one["role"] for one in body["contents"]] == ["user", "model", "user"]
    assert [len(one["parts"]) for one in body["contents"]] == [1, 1, 1]
    assert body["contents"][1]["parts"][0]["thoughtSignature"]


async def test_a_request_of_nothing_but_empty_contents_is_refused() -> None:
    async with FakeServer() as server:
        model = llm(server.url)
        with pytest.raises(ModelRequestError, match="contents that are all empty"):
            await ask(model, request(contents=[types.Content(role="user", parts=[])]))
    assert not server.requests


@pytest.mark.parametrize("value", [object(), {"deep": [object()]}, len])
async def test_a_result_that_json_cannot_express_names_its_tool(value: object) -> None:
    answer = types.FunctionResponse(name="look_up", response={"found": 1, "row": value})
    contents = [types.Content(role="user", parts=[types.Part(function_response=answer)])]
    async with FakeServer() as server:
        model = llm(server.url)
        with pytest.raises(ModelRequestError, match="the tool 'look_up', whose field 'row'"):
            await ask(model, request(contents=contents))
    assert not server.requests
