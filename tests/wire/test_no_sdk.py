"""No SDK of a provider is imported by a run that does not hand one in."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from importlib import import_module

import pytest

from tests.wire.fake_server import FakeServer
from tests.wire.turns import Call, Turn

TURNS = [Turn(text="I look.", calls=(Call("look", {"city": "Rome"}),)), Turn(text="Rain.")]
PROGRAM = """
import asyncio, json, sys
from importlib import import_module
from ostinato.agents.llm_agent import LlmAgent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.models.registry import LLMRegistry
from ostinato.runners import InMemoryRunner
from ostinato import types

def look(city: str) -> str:
    "Look at the weather."
    return "rain"

async def main(name, url):
    model = LLMRegistry.new_llm(name)
    model.base_url, model.api_key = url, "sk-0123456789"
    runner = InMemoryRunner(agent=LlmAgent(name="a", model=model, tools=[look]), app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    said = types.UserContent("Hi")
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    run = runner.run_async(user_id="u", session_id="s", new_message=said, run_config=config)
    texts = [e.content.parts[0].text async for e in run if not e.partial and e.content]
    await runner.close()
    return texts[-1]

said = [asyncio.run(main(*one)) for one in json.loads(sys.argv[1])]
print(json.dumps([said, sorted(sys.modules)]))
"""
SDKS = ("google.genai", "openai", "anthropic", "litellm", "boto3", "botocore", "google.auth")


WIRES = {
    "gemini": "google:gemini-2.5-flash",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "bedrock": "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0",
    "chat": "openai-chat:gpt-5",
    "responses": "openai:gpt-5",
}


async def test_runs_of_all_wires_import_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(key, "sk-0123456789")
    async with AsyncExitStack() as stack:
        runs: list[tuple[str, str]] = []
        for wire, name in WIRES.items():
            script = import_module(f"tests.wire.{wire}.script")
            server = FakeServer(script.answers(TURNS, stream=True))
            runs.append((name, (await stack.enter_async_context(server)).url))
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", PROGRAM, json.dumps(runs)],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    texts, modules = json.loads(done.stdout)
    assert texts == ["Rain."] * len(WIRES)
    assert not [one for one in modules if one in SDKS]
