"""pytest style: the content types as programs use them: constructors, equality, dumps."""

import pytest
from google.genai import types


def test_constructors():
    assert types.Part.from_text(text="a") == types.Part(text="a")
    assert types.UserContent("a").role == "user"
    assert types.ModelContent("a").parts[0].text == "a"
    assert len(types.UserContent(["a", types.Part(text="b")]).parts) == 2
    call = types.Part.from_function_call(name="f", args={"a": 1}).function_call
    assert (call.name, call.args) == ("f", {"a": 1})
    answer = types.Part.from_function_response(name="f", response={"r": 1}).function_response
    assert answer.response == {"r": 1}
    assert types.Part.from_bytes(data=b"x", mime_type="image/png").inline_data.data == b"x"
    uri = types.Part.from_uri(file_uri="gs://b/f.txt", mime_type="text/plain")
    assert uri.file_data.file_uri == "gs://b/f.txt"


def test_dumps():
    content = types.Content(role="user", parts=[types.Part(text="a")])
    assert content.model_dump(exclude_none=True) == {"role": "user", "parts": [{"text": "a"}]}
    part = types.Part(function_call=types.FunctionCall(id="1", name="f", args={}))
    assert part.model_dump(exclude_none=True, by_alias=True) == {
        "functionCall": {"id": "1", "name": "f", "args": {}}
    }
    again = types.Content.model_validate_json(content.model_dump_json())
    assert again == content
    assert types.Content.model_validate({"role": "user", "parts": [{"text": "a"}]}) == content


def test_camel_case_is_read():
    part = types.Part.model_validate({"inlineData": {"mimeType": "text/plain", "data": "YWJj"}})
    assert part.inline_data.data == b"abc"
    assert types.FunctionCall.model_validate({"name": "f", "args": {"x": [1]}}).args == {"x": [1]}


def test_unknown_fields():
    with pytest.raises(ValueError):
        types.Part(no_such_field=1)
    with pytest.raises(ValueError):
        types.Content(role="user", parts=3)


def test_enums_and_config():
    assert types.FinishReason.STOP.value == "STOP"
    assert types.Type.OBJECT == "OBJECT"
    config = types.GenerateContentConfig(temperature=0.2, max_output_tokens=5)
    assert config.model_dump(exclude_none=True) == {"temperature": 0.2, "max_output_tokens": 5}
    copy = config.model_copy(update={"temperature": 0.9})
    assert (copy.temperature, config.temperature) == (0.9, 0.2)
    declared = types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])
    assert declared.function_declarations[0].name == "f"
