"""LoggingPlugin and DebugLoggingPlugin: what they tell of a run, and what they never tell."""

import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.plugins import DebugLoggingPlugin, LoggingPlugin
from ostinato.plugins.debug_logging_plugin import append_document
from ostinato.testing import Conversation, ScriptedModel, call

CANARY = "canary-8f3a91c7d2"


def sign_in(password: str) -> dict[str, str]:
    """Sign in."""
    return {"user": "ada", "access_token": CANARY}


def fail() -> None:
    """Fail."""
    raise ValueError(f"password={CANARY}")


def talk_with(plugin: Any, *turns: Any, **options: Any) -> Conversation:
    agent = Agent(
        name="root",
        model=ScriptedModel(turns),
        tools=[sign_in, fail],
        instruction=f"Your api_key={CANARY}. Be kind.",
    )
    return Conversation(agent, plugins=[plugin], **options)


@pytest.mark.spec(158)
async def test_every_step_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    talk = talk_with(LoggingPlugin(), call("sign_in", password=CANARY), "Signed in.")
    await talk.say("Hello")
    printed = capsys.readouterr().out
    assert printed.startswith("[logging_plugin] 🚀 USER MESSAGE RECEIVED")
    steps = [
        "USER MESSAGE RECEIVED", "User Content: text: 'Hello'", "INVOCATION STARTING",
        "AGENT STARTING", "LLM REQUEST", "Available Tools: ['sign_in', 'fail']", "LLM RESPONSE",
        "function_call: sign_in", "EVENT YIELDED", "Function Calls: ['sign_in']",
        "TOOL STARTING", "TOOL COMPLETED", "'user': 'ada'", "EVENT YIELDED",
        "Function Responses: ['sign_in']", "LLM REQUEST", "EVENT YIELDED", "text: 'Signed in.'",
        "Final Response: True", "AGENT COMPLETED", "INVOCATION COMPLETED",
    ]  # fmt: skip
    at = 0
    for step in steps:
        at = printed.index(step, at) + len(step)
    assert CANARY not in printed


async def test_errors_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError):
        await talk_with(LoggingPlugin("log"), call("fail")).say("Hello")
    with pytest.raises(OSError):
        await talk_with(LoggingPlugin("log"), OSError("down")).say("Hello")
    printed = capsys.readouterr().out
    assert "[log] 🔧 TOOL ERROR" in printed
    assert "[log]    Error: down" in printed
    assert CANARY not in printed


async def test_lines_can_go_elsewhere() -> None:
    lines: list[str] = []

    class Kept(LoggingPlugin):
        def _log(self, message: str) -> None:
            lines.append(message)

    image = types.Part(inline_data=types.Blob(data=b"a", mime_type="image/png"))
    await talk_with(Kept(), "x" * 500).say([image, types.Part(text="see")])
    assert "   User Content: other_part | text: 'see'" in lines
    assert max(map(len, lines)) < 400


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the documents of the file, each of which is JSON."""
    first, *texts = path.read_text(encoding="utf-8").split("---\n")
    assert first == ""
    return [json.loads(text) for text in texts]


@pytest.mark.spec(158)
async def test_every_step_is_written(tmp_path: Path) -> None:
    path = tmp_path / "debug.yaml"
    plugin = DebugLoggingPlugin(output_path=str(path))
    talk = talk_with(
        plugin,
        call("sign_in", password=CANARY),
        "Signed in.",
        "Bye.",
        state={"seen": 1, "pwd": CANARY},
    )
    await talk.say("Hello")
    await talk.say([types.Part(inline_data=types.Blob(data=b"abc", mime_type="image/png"))])
    first, second = documents(path)
    assert (first["app_name"], first["session_id"]) == ((await talk.session()).app_name, "session")
    assert [entry["entry_type"] for entry in first["entries"]] == [
        "user_message", "invocation_start", "agent_start", "llm_request", "llm_response", "event",
        "tool_call", "tool_response", "event", "llm_request", "llm_response", "event", "agent_end",
        "session_state_snapshot", "invocation_end",
    ]  # fmt: skip
    by_type = {entry["entry_type"]: entry["data"] for entry in first["entries"]}
    assert by_type["tool_call"]["args"] == {"password": "[redacted]"}
    assert by_type["tool_response"]["result"]["user"] == "ada"
    assert by_type["session_state_snapshot"]["state"] == {"seen": 1, "pwd": "[redacted]"}
    assert "Be kind." in by_type["llm_request"]["config"]["system_instruction"]
    assert by_type["llm_request"]["content_count"] == 3
    image = second["entries"][0]["data"]["content"]["parts"][0]["inline_data"]
    assert image == {"mime_type": "image/png", "bytes": 3}
    assert CANARY not in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_parts_can_be_left_out(tmp_path: Path) -> None:
    plugin = DebugLoggingPlugin(
        output_path=str(tmp_path / "debug.yaml"),
        include_session_state=False,
        include_system_instruction=False,
    )
    await talk_with(plugin, "Hello.").say("Hello")
    text = (tmp_path / "debug.yaml").read_text(encoding="utf-8")
    assert "Be kind." not in text
    assert "session_state_snapshot" not in text


async def test_a_run_that_fails_is_written_too(tmp_path: Path) -> None:
    plugin = DebugLoggingPlugin(output_path=str(tmp_path / "debug.yaml"))
    with pytest.raises(ValueError):
        await talk_with(plugin, call("fail")).say("Hello")
    (document,) = documents(tmp_path / "debug.yaml")
    assert document["entries"][-1]["entry_type"] == "invocation_error"
    assert document["entries"][-1]["data"]["error_type"] == "ValueError"
    assert "tool_error" in [entry["entry_type"] for entry in document["entries"]]
    assert CANARY not in json.dumps(document)


async def test_a_file_that_cannot_be_written_ends_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = DebugLoggingPlugin(output_path=str(tmp_path / "missing" / "debug.yaml"))
    talk = talk_with(plugin, "Hello.")
    with caplog.at_level(logging.WARNING):
        await talk.say("Hello")
    assert talk.text == "Hello."
    assert "could not be written" in caplog.text


def test_what_yaml_cannot_hold_is_escaped(tmp_path: Path) -> None:
    path, text = (
        tmp_path / "a.yaml",
        "é \x00 \x7f \x85 \x9f \u2028 \ufeff \ud800 \U0001f600 \t --- #",
    )
    append_document(path, {"a": text})
    assert documents(path) == [{"a": text}]
    written = path.read_text(encoding="utf-8")
    assert not set("\x00\x7f\x85\x9f\u2028\ufeff\t") & set(written)
    assert "é" in written
