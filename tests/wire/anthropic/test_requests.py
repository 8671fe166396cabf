"""What Claude is sent: messages, tools, thinking, schemas and marks for the cache."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.errors import ModelRequestError
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.llm_request import LlmRequest
from tests.wire.fake_server import FakeServer
from tests.wire.turns import Turn

from .script import KEY, answers, llm

Part = types.Part


def user(*parts: types.Part | str) -> types.Content:
    return _content("user", parts)


def model(*parts: types.Part | str) -> types.Content:
    return _content("model", parts)


def _content(role: str, parts: tuple[types.Part | str, ...]) -> types.Content:
    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    return types.Content(role=role, parts=made)


def called(name: str, call_id: str | None = None, **args: Any) -> types.Part:
    return Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def result(name: str, call_id: str | None = None, **response: Any) -> types.Part:
    answer = types.FunctionResponse(id=call_id, name=name, response=response)
    return Part(function_response=answer)


async def sent(*contents: types.Content, name: str = "claude-sonnet-4-5", **more: Any) -> Any:
    """Return the body of the request that these contents become."""
    config = types.GenerateContentConfig(**more.pop("config", {}))
    request = LlmRequest(contents=list(contents) or [user("Hi")], config=config, **more)
    async with FakeServer(answers([Turn(text="ok")], stream=False)) as server:
        claude = llm(server.url, model=name)
        assert [r async for r in claude.generate_content_async(request)]
        await claude.aclose()
    return server.requests[0].json


async def refused(*contents: types.Content, **more: Any) -> str:
    """Return the error of a request that is not sent; the server would not answer it."""
    config = types.GenerateContentConfig(**more.pop("config", {}))
    request = LlmRequest(contents=list(contents) or [user("Hi")], config=config, **more)
    async with FakeServer() as server:
        claude = llm(server.url, model=more.pop("name", "claude-sonnet-4-5"))
        with pytest.raises(ModelRequestError) as raised:
            assert [r async for r in claude.generate_content_async(request)]
        assert not server.requests
    assert (raised.value.provider, raised.value.model) == ("anthropic", "claude-sonnet-4-5")
    assert "Anthropic" in str(raised.value)
    assert "claude-sonnet-4-5" in str(raised.value)
    return str(raised.value)


async def test_the_request_as_a_whole() -> None:
    async with FakeServer(answers([Turn(text="ok")], stream=True)) as server:
        claude = llm(server.url, max_tokens=100)
        request = LlmRequest(
            contents=[user("Hi")],
            config=types.GenerateContentConfig(
                system_instruction="Be kind.",
                temperature=0.5,
                top_p=0.9,
                top_k=40.0,
                stop_sequences=["END"],
                http_options=types.HttpOptions(
                    headers={"anthropic-beta": "x"}, extra_body={"service_tier": "auto"}
                ),
            ),
        )
        assert [r async for r in claude.generate_content_async(request, stream=True)]
        await claude.aclose()
    got = server.requests[0]
    assert got.path == "/v1/messages"
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.headers["anthropic-beta"] == "x"
    assert got.headers["content-type"] == "application/json"
    assert got.json == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["END"],
        "service_tier": "auto",
        "stream": True,
    }


async def test_roles_alternate_the_user_begins_and_results_come_first() -> None:
    body = await sent(
        model("Welcome."),
        user("One."),
        user("Two."),
        model("I look."),
        model(called("f", "t1", x=1), called("g", "t2")),
        user("Quick!"),
        user(result("f", "t1", result="sun"), result("g", "t2", error="no")),
    )
    assert [m["role"] for m in body["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert [b["text"] for b in body["messages"][2]["content"]] == ["One.", "Two."]
    assert body["messages"][3]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
    ]
    assert body["messages"][4]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "sun"}],
        },
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "content": [{"type": "text", "text": '{"error": "no"}'}],
            "is_error": True,
        },
        {"type": "text", "text": "Quick!"},
    ]


async def test_empty_texts_are_left_out_and_so_are_messages_of_nothing_else() -> None:
    body = await sent(user("Hi", "", " \n"), model(""), model("\t"), user("There?"))
    assert body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "There?"}],
        }
    ]


async def test_a_request_that_ends_with_the_models_words_asks_it_to_go_on() -> None:
    body = await sent(user("Hi"), model("I am"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]


async def test_calls_without_ids_get_them_in_pairs() -> None:
    body = await sent(
        user("Go"),
        model(called("f", x=1), called("g"), called("f", x=2)),
        user(result("f", result="a"), result("g", result="b"), result("f", result="c")),
        model(called("f", x=3)),
        user(result("f", result="d")),
    )
    calls = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"]
    results = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert len({call["id"] for call in calls}) == 4
    assert [call["id"] for call in calls] == [one["tool_use_id"] for one in results]
    assert all(set(one) == {"type", "tool_use_id", "content"} for one in results)


async def test_equal_ids_in_one_message_belong_to_the_calls_in_order() -> None:
    body = await sent(
        user("Go"),
        model(called("f", "c", x=1), called("f", "c", x=2)),
        user(result("f", "c", result="one"), result("f", "c", result="two")),
        model(called("f", "c", x=3)),
        user(result("f", "c", result="three")),
        user(result("f", "c", result="late")),
    )
    blocks = [b for m in body["messages"] for b in m["content"]]
    calls = {b["id"]: b["input"]["x"] for b in blocks if b["type"] == "tool_use"}
    results = [b for b in blocks if b["type"] == "tool_result"]
    assert len(calls) == 3
    got = [(calls[b["tool_use_id"]], b["content"][0]["text"]) for b in results]
    assert got == [(1, "one"), (2, "two"), (3, "three"), (3, "late")]


async def test_a_request_of_nothing_but_blank_text_asks_the_model_to_begin() -> None:
    for contents in ([user("")], [user(" \n"), user()]):
        body = await sent(*contents)
        assert [m["role"] for m in body["messages"]] == ["user"]
        assert body["messages"][0]["content"][0]["text"].strip()
    body = await sent(user("Hi"), model("I am"), user(""))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]


async def test_messages_that_are_merged_or_renamed_are_written_once() -> None:
    """The second request of a session finds the same messages, the third one with more words."""
    talk = [
        user("Go"),
        user("on"),
        model(called("f", "c", x=1)),
        user(result("f", "c", result="a")),
        model(called("f", "c", x=2)),
        user(result("f", "c", result="b")),
    ]
    async with FakeServer(answers([Turn(text="ok")] * 3, stream=False)) as server:
        claude = llm(server.url)
        for more in ([], [], [model("Done."), user("More?")]):
            talk += more
            wanted = LlmRequest(contents=[*talk])
            assert [r async for r in claude.generate_content_async(wanted)]
        await claude.aclose()
    first, second, third = [one.json["messages"] for one in server.requests]
    assert first == second == third[:-2]
    assert [len(m["content"]) for m in first] == [2, 1, 1, 1, 1]
    assert first[1]["content"][0]["id"] != first[3]["content"][0]["id"]


async def test_ids_of_other_providers_are_put_into_the_apis_characters() -> None:
    body = await sent(
        user("Go"), model(called("f", "functions.f:0")), user(result("f", "functions.f:0"))
    )
    assert body["messages"][1]["content"][0]["id"] == "functions_f_0"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "functions_f_0"


async def test_signed_thoughts_go_back_and_those_of_others_do_not() -> None:
    own = Part(
        text="Hm.",
        thought=True,
        thought_signature=b"c2ln",
        part_metadata={"anthropic": "thinking"},
    )
    secret = {"type": "redacted_thinking", "data": "ZW5j"}
    hidden = Part(thought=True, part_metadata={"anthropic": secret})
    foreign = Part(text="Well.", thought=True, thought_signature=b"\x01\x02")
    body = await sent(user("Go"), model(own, hidden, foreign, "So."), user("And?"))
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        secret,
        {"type": "text", "text": "So."},
    ]


PNG = b"\x89PNG"
SOURCE = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}


async def test_images_documents_and_files() -> None:
    body = await sent(
        user(
            Part.from_bytes(data=PNG, mime_type="image/png"),
            Part.from_uri(file_uri="https://a.example/x.jpg", mime_type="image/jpeg"),
            Part.from_bytes(data=b"%PDF", mime_type="application/pdf"),
            Part.from_uri(file_uri="https://a.example/x.pdf", mime_type="application/pdf"),
            Part(inline_data=types.Blob(data=b"a,b", mime_type="text/csv", display_name="t.csv")),
            Part.from_uri(file_uri="file_011", mime_type="application/pdf"),
        )
    )
    assert body["messages"][0]["content"] == [
        {"type": "image", "source": SOURCE},
        {"type": "image", "source": {"type": "url", "url": "https://a.example/x.jpg"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        },
        {"type": "document", "source": {"type": "url", "url": "https://a.example/x.pdf"}},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
            "title": "t.csv",
        },
        {"type": "document", "source": {"type": "file", "file_id": "file_011"}},
    ]


async def test_results_may_hold_images() -> None:
    image = types.FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")
    answer = types.FunctionResponse(id="t", name="f", response={"result": "see"}, parts=[image])
    body = await sent(user("Go"), model(called("f", "t")), user(Part(function_response=answer)))
    assert body["messages"][2]["content"][0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": SOURCE},
    ]


async def test_code_is_told_as_text() -> None:
    code = types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)
    done = types.CodeExecutionResult(output="1", outcome=types.Outcome.OUTCOME_OK)
    body = await sent(
        user("Go"), model(Part(executable_code=code), Part(code_execution_result=done)), user("?")
    )
    assert [b["text"] for b in body["messages"][1]["content"]] == [
        "```python\nprint(1)\n```",
        "```tool_output\n1\n```",
    ]


def tied(body: Any) -> list[tuple[str, str, str]]:
    """Return kind, id and name or text of each call and result in a body."""
    return [
        ("call", block["id"], block["name"])
        if block["type"] == "tool_use"
        else ("result", block["tool_use_id"], block["content"][0]["text"])
        for message in body["messages"]
        for block in message["content"]
        if block["type"] in ("tool_use", "tool_result")
    ]


async def test_calls_without_ids_get_ids_of_their_own() -> None:
    body = await sent(
        user("Look"),
        model(called("look", x=1), called("look", "", x=2)),
        user(result("look", result="one"), result("look", "", result="two")),
        model(called("look", x=3)),
        user(result("look", result="three")),
    )
    found = tied(body)
    asked = [made for kind, made, _ in found if kind == "call"]
    assert len({*asked, ""}) == 4
    assert [made for kind, made, _ in found if kind == "result"] == asked


async def test_an_id_that_a_model_used_again_is_sent_once() -> None:
    again = [
        content
        for text in ("one", "two", "three")
        for content in (model(called("look", "c.0")), user(result("look", "c.0", result=text)))
    ]
    body = await sent(
        user("Look"),
        *again,
        model(called("look", "c:0"), called("look", "d")),
        user(result("look", "c:0", result="four"), result("look", "d", result="five")),
    )
    found = tied(body)
    calls = [made for kind, made, _ in found if kind == "call"]
    assert len(set(calls)) == 5 and calls[0] == "c_0" and calls[4] == "d"
    assert [(made, text) for kind, made, text in found if kind == "result"] == list(
        zip(calls, ["one", "two", "three", "four", "five"], strict=True)
    )


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Part.from_bytes(data=b"x", mime_type="audio/wav"), "'audio/wav'"),
        (Part.from_bytes(data=b"x", mime_type="video/mp4"), "'video/mp4'"),
        (Part.from_bytes(data=b"x", mime_type="image/tiff"), "'image/tiff'"),
        (Part.from_uri(file_uri="gs://b/x.pdf", mime_type="application/pdf"), "gs://b/x.pdf"),
        (Part.from_uri(file_uri="https://a/x.mp3", mime_type="audio/mpeg"), "'audio/mpeg'"),
    ],
)
async def test_a_kind_of_content_it_does_not_take(part: types.Part, says: str) -> None:
    error = await refused(user("Look", part))
    assert says in error
    assert re.search(r"onvert it|pass its bytes", error)


async def test_an_image_in_the_models_own_words() -> None:
    error = await refused(model(Part.from_bytes(data=PNG, mime_type="image/png")), user("?"))
    assert "'image/png' in the words of a model" in error


def tool(name: str, **fields: Any) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(name=name, description=f"Does {name}.", **fields)


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def test_tools() -> None:
    parameters = types.Schema(
        type=types.Type.OBJECT,
        properties={"n": types.Schema(type=types.Type.INTEGER, nullable=True)},
    )
    functions = [
        tool("a", parameters_json_schema=SCHEMA),
        tool("b", parameters=parameters),
        tool("c"),
    ]
    body = await sent(config={"tools": [types.Tool(function_declarations=functions)]})
    assert body["tools"] == [
        {"name": "a", "description": "Does a.", "input_schema": SCHEMA},
        {
            "name": "b",
            "description": "Does b.",
            "input_schema": {
                "type": "object",
                "properties": {"n": {"type": ["null", "integer"]}},
            },
        },
        {
            "name": "c",
            "description": "Does c.",
            "input_schema": {"type": "object", "properties": {}},
        },
    ]
    assert "tool_choice" not in body


@pytest.mark.parametrize("name", ["has space", "dotted.name", "ä", "x" * 129])
async def test_a_tools_name_that_the_api_would_refuse(name: str) -> None:
    error = await refused(config={"tools": [types.Tool(function_declarations=[tool(name)])]})
    assert repr(name) in error
    assert "[a-zA-Z0-9_-]{1,128}" in error


async def test_a_built_in_tool_of_another_provider() -> None:
    search = types.Tool(google_search=types.GoogleSearch())
    assert "'google_search'" in await refused(config={"tools": [search]})


@pytest.mark.parametrize(
    ("mode", "names", "choice", "offered"),
    [
        ("AUTO", None, None, ["a", "b", "c"]),
        ("ANY", None, {"type": "any"}, ["a", "b", "c"]),
        ("ANY", ["b"], {"type": "tool", "name": "b"}, ["b"]),
        ("ANY", ["b", "c"], {"type": "any"}, ["b", "c"]),
        ("NONE", None, {"type": "none"}, ["a", "b", "c"]),
    ],
)
async def test_whether_it_must_call(
    mode: str, names: list[str] | None, choice: Any, offered: list[str]
) -> None:
    calling = {"mode": mode, "allowed_function_names": names}
    declared = types.Tool(function_declarations=[tool(name) for name in "abc"])
    body = await sent(
        config={"tools": [declared], "tool_config": {"function_calling_config": calling}}
    )
    assert body.get("tool_choice") == choice
    assert [t["name"] for t in body["tools"]] == offered


OLD, NEW = "claude-opus-4-5", "claude-opus-4-7"


@pytest.mark.parametrize(
    ("name", "wanted", "fields"),
    [
        (OLD, {}, {"max_tokens": 8192}),
        (OLD, {"include_thoughts": False}, {"max_tokens": 8192}),
        (OLD, {"thinking_budget": 0}, {"max_tokens": 8192, "thinking": {"type": "disabled"}}),
        (
            OLD,
            {"thinking_budget": 2000},
            {"max_tokens": 10192, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        (
            OLD,
            {"thinking_budget": 10},
            {"max_tokens": 9216, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
        (
            OLD,
            {"thinking_level": "LOW"},
            {"max_tokens": 12288, "thinking": {"type": "enabled", "budget_tokens": 4096}},
        ),
        (NEW, {"thinking_budget": 2000}, {"max_tokens": 8192, "thinking": {"type": "adaptive"}}),
        (NEW, {"thinking_budget": -1}, {"max_tokens": 8192, "thinking": {"type": "adaptive"}}),
        (
            NEW,
            {"thinking_level": "HIGH", "include_thoughts": True},
            {
                "max_tokens": 8192,
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            "claude-fable-5-1",
            {"thinking_level": "XHIGH", "include_thoughts": False},
            {
                "max_tokens": 8192,
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "xhigh"},
            },
        ),
    ],
)
async def test_thinking(name: str, wanted: dict[str, Any], fields: dict[str, Any]) -> None:
    body = await sent(name=name, config={"thinking_config": wanted})
    del body["messages"], body["model"]
    assert body == fields


async def test_tokens_that_the_request_names_are_the_limit() -> None:
    config = {"max_output_tokens": 4000, "thinking_config": {"thinking_budget": 2000}}
    assert (await sent(name=OLD, config=config))["max_tokens"] == 4000


class City(BaseModel):
    name: str
    people: int = 0


CITY = {
    "type": "object",
    "title": "City",
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "people": {"type": "integer", "title": "People", "description": "{default: 0}"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("config", "schema"),
    [
        ({"response_schema": City}, CITY),
        ({"response_json_schema": City.model_json_schema()}, CITY),
        (
            {"response_schema": list[City]},
            {"$defs": {"City": CITY}, "type": "array", "items": {"$ref": "#/$defs/City"}},
        ),
        ({"response_schema": types.Schema(type=types.Type.STRING)}, {"type": "string"}),
    ],
)
async def test_an_answer_that_follows_a_schema(config: Any, schema: Any) -> None:
    body = await sent(config={**config, "thinking_config": {"thinking_level": "LOW"}}, name=NEW)
    form = {"type": "json_schema", "schema": schema}
    assert body["output_config"] == {"effort": "low", "format": form}


async def test_a_schema_that_the_api_has_no_words_for() -> None:
    assert "output schema" in await refused(config={"response_json_schema": {"title": "x"}})


async def test_a_model_too_old_for_schemas() -> None:
    async with FakeServer() as server:
        claude = llm(server.url, model="claude-opus-4-1")
        request = LlmRequest(contents=[user("Hi")])
        request.set_output_schema(City)
        with pytest.raises(ModelRequestError, match=r"choose Claude 4\.5 or newer"):
            assert [r async for r in claude.generate_content_async(request)]


MARK = {"type": "ephemeral", "ttl": "1h"}


def marked(body: Any) -> dict[str, Any]:
    """Where the marks for the cache are in a body."""
    return {
        "tools": [t.get("cache_control") for t in body.get("tools", [])],
        "system": [b.get("cache_control") for b in body["system"]]
        if isinstance(body.get("system"), list)
        else None,
        "messages": [[b.get("cache_control") for b in m["content"]] for m in body["messages"]],
    }


TALK = [user("1"), model("2"), user("3"), model(called("f", "t")), user(result("f", "t"), "go")]
TWO_TOOLS = {"tools": [types.Tool(function_declarations=[tool("f"), tool("g")])]}


async def test_marks_for_the_cache_are_after_tools_system_and_the_last_two_user_messages() -> None:
    config = {**TWO_TOOLS, "system_instruction": "Be kind."}
    body = await sent(*TALK, config=config, cache_config=ContextCacheConfig(ttl_seconds=1800))
    assert marked(body) == {
        "tools": [None, MARK],
        "system": [MARK],
        "messages": [[None], [None], [MARK], [None], [None, MARK]],
    }
    assert body["system"][0]["text"] == "Be kind."


async def test_nothing_is_marked_unless_the_app_caches() -> None:
    assert "cache_control" not in str(await sent(*TALK, config=TWO_TOOLS))


@pytest.mark.parametrize(
    ("cache", "previous", "ttl"),
    [
        (ContextCacheConfig(ttl_seconds=300), None, "5m"),
        (ContextCacheConfig(ttl_seconds=301), None, "1h"),
        (ContextCacheConfig(min_tokens=500), None, None),
        (ContextCacheConfig(min_tokens=500), 499, None),
        (ContextCacheConfig(min_tokens=500), 500, "1h"),
    ],
)
async def test_how_long_and_from_which_length_it_caches(
    cache: ContextCacheConfig, previous: int | None, ttl: str | None
) -> None:
    body = await sent(cache_config=cache, cacheable_contents_token_count=previous)
    mark = body["messages"][0]["content"][0].get("cache_control")
    assert (mark and mark["ttl"]) == ttl


async def test_marks_do_not_stay_on_what_later_requests_share() -> None:
    contents = list(TALK)
    cache = ContextCacheConfig()
    async with FakeServer(answers([Turn(text="ok")] * 2, stream=False)) as server:
        claude = llm(server.url)
        for more in ([], [model("so"), user("and?")]):
            contents += more
            request = LlmRequest(contents=list(contents), cache_config=cache)
            assert [r async for r in claude.generate_content_async(request)]
        await claude.aclose()
    last = marked(server.requests[1].json)["messages"]
    assert last == [[None], [None], [None], [None], [None, MARK], [None], [MARK]]


@pytest.mark.parametrize(
    ("name", "structured", "thinking"),
    [
        ("claude-3-5-sonnet-v2@20241022", False, False),
        ("claude-3-7-sonnet-20250219", False, True),
        ("claude-sonnet-4-20250514", False, True),
        ("claude-haiku-4-5-20251001", True, True),
        ("claude-mythos-preview", True, True),
        ("projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6", True, True),
    ],
)
def test_capabilities(name: str, structured: bool, thinking: bool) -> None:
    can = llm("http://x", model=name).capabilities
    assert (can.structured_output, can.structured_output_with_tools) == (structured, structured)
    assert can.thinking == thinking
    assert (can.images, can.files, can.audio, can.caching) == (True, True, False, True)
