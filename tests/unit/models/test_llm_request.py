"""LlmRequest: its fields, and the four ways in which processors and tools add to it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.models.cache_metadata import CacheMetadata
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.tools import BaseTool, FunctionTool
from tests.support.optionals import parts_of, present


class Place(BaseModel):
    city: str


def weather(city: str) -> str:
    return city


def book(flight: str) -> str:
    return flight


class Undeclared(BaseTool):
    """A tool that the model's provider knows by itself."""

    def __init__(self) -> None:
        super().__init__(name="search", description="Searches.")


def names(tool: Any) -> list[str | None]:
    return [d.name for d in tool.function_declarations or ()]


@pytest.mark.spec(96)
def test_a_bare_request_has_the_specified_fields_and_defaults() -> None:
    request = LlmRequest()
    assert request.model is None and request.contents == [] and request.tools_dict == {}
    assert request.config == types.GenerateContentConfig()
    assert request.live_connect_config == types.LiveConnectConfig()
    assert request.cache_config is None and request.cache_metadata is None
    assert request.previous_interaction_id is None
    assert LlmRequest().config is not request.config


@pytest.mark.spec(96)
def test_a_request_s_tools_are_not_serialised_and_the_rest_is() -> None:
    request = LlmRequest(
        model="m",
        contents=[types.Content(role="user", parts=[types.Part(text="Hi")])],
        cache_config=ContextCacheConfig(ttl_seconds=60),
        cache_metadata=CacheMetadata(fingerprint="f", contents_count=1),
        previous_interaction_id="i-1",
    )
    request.append_tools([FunctionTool(weather)])
    json = request.model_dump(mode="json", exclude_none=True)
    assert "tools_dict" not in json
    assert json["model"] == "m" and json["previous_interaction_id"] == "i-1"
    assert json["cache_config"]["ttl_seconds"] == 60
    assert json["cache_metadata"] == {"fingerprint": "f", "contents_count": 1}
    assert json["config"]["tools"][0]["function_declarations"][0]["name"] == "weather"


@pytest.mark.spec(97)
def test_texts_are_joined_by_blank_lines_and_appended_to_what_is_there() -> None:
    request = LlmRequest()
    assert request.append_instructions(["One.", "Two."]) == []
    assert request.config.system_instruction == "One.\n\nTwo."
    request.append_instructions(["Three."])
    assert request.config.system_instruction == "One.\n\nTwo.\n\nThree."
    assert request.contents == []


@pytest.mark.spec(97)
def test_no_texts_change_nothing() -> None:
    request = LlmRequest()
    request.append_instructions([])
    assert request.config.system_instruction is None


@pytest.mark.spec(90, 97)
def test_of_a_content_the_text_is_appended_and_the_rest_referred_to_as_user_contents() -> None:
    picture = types.Part(
        inline_data=types.Blob(data=b"x", mime_type="image/png", display_name="map")
    )
    paper = types.Part(file_data=types.FileData(file_uri="gs://b/f.pdf"))
    request = LlmRequest()
    given = [types.Part(text="Look at"), picture, types.Part(text="and"), paper]
    added = request.append_instructions(types.Content(role="user", parts=given))
    assert request.config.system_instruction == (
        "Look at\n\n[Reference to inline_data: inline_data_0 (map)]\n\nand\n\n"
        "[Reference to file_data: file_data_1 (gs://b/f.pdf)]"
    )
    assert request.contents == added
    assert [(c.role, c.parts) for c in added] == [
        ("user", [types.Part(text="Referenced inline_data: inline_data_0"), picture]),
        ("user", [types.Part(text="Referenced file_data: file_data_1"), paper]),
    ]


@pytest.mark.parametrize("earlier", [types.UserContent("a"), [types.Part(text="a")], ["a", "b"]])
def test_nothing_is_appended_to_an_instruction_that_is_no_text(
    earlier: Any, caplog: pytest.LogCaptureFixture
) -> None:
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=earlier))
    before = request.config.model_copy(deep=True)
    caplog.set_level(logging.WARNING, "ostinato")
    assert request.append_instructions(["x"]) == []
    assert request.config == before
    (record,) = caplog.records
    assert "not a str" in record.getMessage() and type(earlier).__name__ in record.getMessage()
    blob = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    added = request.append_instructions(types.UserContent([types.Part(text="t"), blob]))
    assert request.contents == added and len(added) == 1
    assert request.config == before


@pytest.mark.spec(97)
@pytest.mark.parametrize("wrong", ["text", [1], None])
def test_instructions_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="instructions must be list"):
        LlmRequest().append_instructions(wrong)


@pytest.mark.spec(98)
def test_declarations_of_all_tools_are_gathered_in_one_tool() -> None:
    request = LlmRequest()
    one, two = FunctionTool(weather), FunctionTool(book)
    request.append_tools([one])
    request.append_tools([two])
    assert request.tools_dict == {"weather": one, "book": two}
    (only,) = present(request.config.tools)
    assert names(only) == ["weather", "book"]


@pytest.mark.spec(98)
def test_a_tool_that_holds_no_declarations_is_left_alone() -> None:
    search = types.Tool(google_search=types.GoogleSearch())
    request = LlmRequest(config=types.GenerateContentConfig(tools=[search]))
    request.append_tools([FunctionTool(weather)])
    first, second = present(request.config.tools)
    assert first is search and names(second) == ["weather"]


@pytest.mark.spec(98)
def test_tools_without_a_declaration_are_not_added() -> None:
    request = LlmRequest()
    request.append_tools([Undeclared()])
    assert request.tools_dict == {} and request.config.tools is None


@pytest.mark.spec(98)
def test_declarations_that_another_request_shares_are_not_changed() -> None:
    shared = types.Tool(function_declarations=[types.FunctionDeclaration(name="a")])
    request = LlmRequest(config=types.GenerateContentConfig(tools=[shared]))
    request.append_tools([FunctionTool(weather)])
    assert names(present(request.config.tools)[0]) == ["a", "weather"] and names(shared) == ["a"]


@pytest.mark.spec(99)
@pytest.mark.parametrize("schema", [Place, list[Place], {"type": "OBJECT"}])
def test_an_output_schema_sets_the_response_schema_and_json(schema: Any) -> None:
    request = LlmRequest()
    request.set_output_schema(schema)
    assert request.config.response_schema == schema
    assert request.config.response_mime_type == "application/json"


@pytest.mark.spec(99)
def test_an_output_schema_may_be_given_by_its_older_name_and_is_needed() -> None:
    request = LlmRequest()
    request.set_output_schema(base_model=Place)
    assert request.config.response_schema is Place
    with pytest.raises(ValueError, match="output_schema"):
        LlmRequest().set_output_schema()


def test_own_contents_may_be_edited_without_the_history_seeing_it() -> None:
    kept = types.Content(role="user", parts=[types.Part(text="Hi")])
    request = LlmRequest(contents=[kept])
    own = request.own_contents()
    parts_of(own[0])[0].text = "changed"
    assert request.contents is own and parts_of(kept)[0].text == "Hi"
