"""What is read off responses, configs and live messages."""

from enum import Enum
from typing import Literal

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.types import Part


def answer(*parts: Part) -> types.GenerateContentResponse:
    content = types.Content(parts=list(parts))
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content)])


def test_response_reads_its_first_candidate() -> None:
    response = answer(
        Part(text="t", thought=True),
        Part(text="a"),
        Part.from_function_call(name="f", args={}),
        Part.from_executable_code(code="c", language=types.Language.PYTHON),
        Part.from_code_execution_result(outcome=types.Outcome.OUTCOME_OK, output="o"),
        Part(text="b"),
    )
    assert response.text == "ab"
    assert response.function_calls == [types.FunctionCall(name="f", args={})]
    assert (response.executable_code, response.code_execution_result) == ("c", "o")


def test_absent_things_are_none() -> None:
    assert answer(Part(text="")).text == ""
    for response in (
        types.GenerateContentResponse(),
        answer(),
        answer(Part(text="", thought=True)),
    ):
        assert response.text is None
        assert response.function_calls is None
        assert response.executable_code is None
        assert response.code_execution_result is None
        assert response.initial_prompt_token_count is None
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=5)
    assert types.GenerateContentResponse(usage_metadata=usage).initial_prompt_token_count == 5


def test_old_name_of_citations() -> None:
    found = types.CitationMetadata.model_validate({"citationSources": [{"uri": "x"}]})
    assert found == types.CitationMetadata(citations=[types.Citation(uri="x")])


def test_config_tools() -> None:
    session = object()
    config = types.GenerateContentConfig(tools=[{"googleSearch": {}}, print, session])  # type: ignore[list-item]
    assert config.tools == [types.Tool(google_search=types.GoogleSearch()), print, session]
    with pytest.raises(ValidationError, match="must be a list"):
        types.GenerateContentConfig(tools=print)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="zz"):
        types.GenerateContentConfig(tools=[{"zz": 1}])  # type: ignore[list-item]


def test_config_response_schema() -> None:
    for schema in (int, list[int], int | str, {"type": "OBJECT"}, types.Schema(title="x")):
        assert types.GenerateContentConfig(response_schema=schema).response_schema == schema
    choices = types.GenerateContentConfig(response_schema=Literal["a", "b"]).response_schema
    assert isinstance(choices, type) and issubclass(choices, Enum)
    assert [choice.value for choice in choices] == ["a", "b"]
    with pytest.raises(ValidationError):
        types.GenerateContentConfig(response_schema=3)  # pyright: ignore[reportArgumentType]


def test_config_instruction_keeps_its_kind() -> None:
    for given in (
        "x",
        Part(text="x"),
        types.Content(parts=[Part(text="x")]),
        ["x", Part(text="y")],
    ):
        config = types.GenerateContentConfig(system_instruction=given)
        assert config.system_instruction == given
        assert types.GenerateContentConfig.model_validate_json(config.model_dump_json()) == config


def test_live_message_reads_its_turn() -> None:
    turn = types.Content(
        parts=[
            Part(text="a"),
            Part(text="t", thought=True),
            Part.from_bytes(data=b"1", mime_type="audio/pcm"),
            Part.from_bytes(data=b"2", mime_type="audio/pcm"),
        ]
    )
    message = types.LiveServerMessage(server_content=types.LiveServerContent(model_turn=turn))
    assert (message.text, message.data) == ("a", b"12")
    assert (types.LiveServerMessage().text, types.LiveServerMessage().data) == (None, None)


def test_declarations_come_from_tools() -> None:
    with pytest.raises(NotImplementedError, match="FunctionTool"):
        types.FunctionDeclaration.from_callable(callable=print)
