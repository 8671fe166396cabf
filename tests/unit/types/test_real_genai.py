"""Objects and JSON of the installed google-genai go in and come out unchanged."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from ostinato import types

pytestmark = pytest.mark.service
JSON: dict[str, Any] = {"exclude_none": True, "by_alias": True}


@pytest.fixture(name="genai")
def fixture_genai() -> Any:
    return pytest.importorskip("google.genai.types")


def content(genai: Any) -> Any:
    part = genai.Part
    answer = genai.FunctionResponsePart.from_bytes(data=b"\xfb", mime_type="a/b")
    return genai.Content(
        role="user",
        parts=[
            part(text="a", thought=True, thought_signature=b"\xff\xfe"),
            part.from_function_call(name="f", args={"a": [1]}),
            part.from_function_response(name="f", response={"r": 1}, parts=[answer]),
            part.from_bytes(data=b"1", mime_type="x/y"),
            part.from_uri(file_uri="gs://a/b.png"),
            part(video_metadata=genai.VideoMetadata(fps=2.0, start_offset="1s")),
            part.from_code_execution_result(outcome="OUTCOME_OK", output="x"),
            part.from_executable_code(code="c", language="PYTHON"),
        ],
    )


def test_contents_both_ways(genai: Any) -> None:
    theirs = content(genai)
    ours = types.Content.model_validate(theirs)
    text = theirs.model_dump_json(**JSON)
    assert ours.model_dump_json(**JSON) == text
    assert types.Content(parts=theirs.parts, role="user") == ours
    assert types.Content.model_validate_json(text) == ours
    assert genai.Content.model_validate_json(ours.model_dump_json(**JSON)) == theirs
    assert all(type(part) is types.Part for part in ours.parts or [])


def test_configs(genai: Any) -> None:
    schema = genai.Schema(type="OBJECT", properties={"a": genai.Schema(type="STRING")})
    declaration = genai.FunctionDeclaration(name="f", parameters=schema)
    theirs = genai.GenerateContentConfig(
        system_instruction=genai.Content(parts=[genai.Part(text="x")]),
        tools=[genai.Tool(function_declarations=[declaration]), print],
        response_schema=schema,
        safety_settings=[genai.SafetySetting(category="HARM_CATEGORY_HARASSMENT")],
        http_options=genai.HttpOptions(retry_options=genai.HttpRetryOptions(attempts=2)),
        thinking_config=genai.ThinkingConfig(thinking_level="low"),
    )
    ours = types.GenerateContentConfig.model_validate(theirs)
    assert type(ours.response_schema) is types.Schema
    assert type((ours.tools or [None])[0]) is types.Tool
    assert ours.model_dump(exclude_none=True) == theirs.model_dump(exclude_none=True)


def test_unions_find_the_right_kind(genai: Any) -> None:
    union = TypeAdapter[Any](types.ContentUnion)
    for value in (content(genai), genai.Part(text="x"), genai.File(uri="u", mime_type="m")):
        assert type(union.validate_python(value)).__name__ == type(value).__name__


def test_a_name_we_lack_is_borrowed(genai: Any) -> None:
    assert types.TunedModel is genai.TunedModel


def test_ours_equal_theirs_of_the_same_fields(genai: Any) -> None:
    theirs = content(genai)
    ours = types.Content.model_validate(theirs)
    assert ours == theirs
    assert ours.parts == theirs.parts
    assert types.UserContent("a") == genai.Content(role="user", parts=[genai.Part(text="a")])
    assert types.Content(role="user", parts=ours.parts) != genai.ModelContent("a")
    assert types.Part(text="a") != genai.FunctionCall(name="a")
    assert types.FunctionCall(name="a") != genai.FunctionCall(name="a", args={})
