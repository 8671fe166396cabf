"""Cassettes: what is recorded is replayed, differences are shown, secrets are not kept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import (
    CassetteMismatchError,
    RecordingModel,
    ReplayModel,
    ScriptedModel,
    call,
    chunks,
)


class Answer(BaseModel):
    text: str


def asking(text: str, **config: Any) -> LlmRequest:
    return LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(**config),
    )


async def dumped(model: Any, request: LlmRequest, stream: bool = False) -> list[dict[str, Any]]:
    return [
        r.model_dump(exclude_none=True) async for r in model.generate_content_async(request, stream)
    ]


async def test_a_recording_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "weather.json"
    blob = types.Part(inline_data=types.Blob(data=b"\xff\x00", mime_type="image/png"))
    script = ScriptedModel(
        [call("f", a=1), chunks("a", "b"), [blob], LlmResponse(error_code="SAFETY")],
        native_schema=True,
    )
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])
    requests = [
        (asking("one", tools=[tool], system_instruction="Be brief."), False),
        (asking("two", response_schema=Answer), True),
        (asking("three", response_schema={"type": "object"}), False),
        (asking("four", response_schema=types.Schema(type=types.Type.STRING)), False),
    ]
    recording = RecordingModel(script, path)
    first = [await dumped(recording, request, stream) for request, stream in requests]
    replay = ReplayModel(path)
    with pytest.raises(CassetteMismatchError, match="4 answers, of which only 0"):
        replay.assert_finished()
    assert [await dumped(replay, request, stream) for request, stream in requests] == first
    replay.assert_finished()
    assert replay.model == recording.model == "scripted"
    assert replay.supports_output_schema_with_tools
    assert recording.supports_output_schema_with_tools


async def test_another_request_is_shown_as_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    await dumped(RecordingModel(ScriptedModel(["hi"]), path), asking("one"))
    with pytest.raises(CassetteMismatchError) as caught:
        await dumped(ReplayModel(path), asking("two"))
    message = str(caught.value)
    assert '-          "text": "one"' in message
    assert '+          "text": "two"' in message
    assert str(path) in message


async def test_one_request_more_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    await dumped(RecordingModel(ScriptedModel(["hi"]), path), asking("one"))
    replay = ReplayModel(path)
    await dumped(replay, asking("one"))
    with pytest.raises(CassetteMismatchError, match=r"request 2 .*only 1 are recorded"):
        await dumped(replay, asking("one"))


async def test_keys_in_http_options_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    options = types.HttpOptions(headers={"authorization": "Bearer top-secret"})
    request = asking("one", http_options=options, temperature=0.5)
    await dumped(RecordingModel(ScriptedModel(["hi"]), path), request)
    text = path.read_text()
    assert "top-secret" not in text
    assert json.loads(text)["exchanges"][0]["request"]["settings"] == {"temperature": 0.5}
    await dumped(ReplayModel(path), asking("one", temperature=0.5))


async def test_redact_takes_out_what_differs_each_time(tmp_path: Path) -> None:
    path = tmp_path / "c.json"

    def redact(text: str) -> str:
        return re.sub(r"token-\d+", "token-x", text)

    model = RecordingModel(ScriptedModel(["your token-1"]), path, redact=redact)
    await dumped(model, asking("use token-1"))
    assert "token-1" not in path.read_text()
    (answer,) = await dumped(ReplayModel(path, redact=redact), asking("use token-2"))
    assert answer["content"]["parts"] == [{"text": "your token-x"}]


async def test_answers_that_fail_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    model = RecordingModel(ScriptedModel([ValueError("no"), "yes"]), path)
    with pytest.raises(ValueError, match="no"):
        await dumped(model, asking("one"))
    assert not path.exists()
    await dumped(model, asking("two"))
    assert len(json.loads(path.read_text())["exchanges"]) == 1


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"format": 99}')
    with pytest.raises(ValueError, match="not a cassette of format 1"):
        ReplayModel(path)
    path.write_text("[]")
    with pytest.raises(ValueError, match="not a cassette"):
        ReplayModel(path)
