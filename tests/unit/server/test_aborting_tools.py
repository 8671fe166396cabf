"""A tool that ends its program, as argparse does: the server answers, and goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import listening

AGENT = """
import argparse
import asyncio
import sys

from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call


async def parse(options: list[str]) -> str:
    return str(argparse.ArgumentParser(prog="parse").parse_args(options))


async def cancel() -> None:
    raise asyncio.CancelledError


async def close() -> None:
    raise GeneratorExit


class Stop(BaseException):
    pass


async def stop() -> None:
    raise Stop("canary")


async def cancel_itself() -> None:
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def cancel_itself_at_the_end() -> str:
    asyncio.current_task().cancel()
    return "cancelled"


async def leave() -> None:
    sys.exit("it's the canary")


async def group() -> None:
    members = [ValueError("canary"), asyncio.CancelledError("canary")]
    raise BaseExceptionGroup("canary", members)


def answer(request):
    text = request.contents[-1].parts[0].text
    if text == "parse":
        return call("parse", options=["--unknown"])
    if text in ("cancel", "close", "stop", "leave", "group") or text.startswith("cancel_itself"):
        return call(text)
    if text == "model cancels itself":
        asyncio.current_task().cancel()
    if text == "model stops":
        raise Stop("canary")
    if text == "model cancels":
        raise asyncio.CancelledError
    if text == "model closes":
        raise GeneratorExit
    if text == "model exits":
        raise SystemExit(3)
    return f"Heard {text}."


TOOLS = [parse, cancel, close, stop, leave, group, cancel_itself, cancel_itself_at_the_end]
root_agent = Agent(name="root", model=FunctionModel(answer), tools=TOOLS)
"""


QUICK = ["group", "model cancels itself"]
# The flow makes one error of all of them; tests/unit/flows has each.
LONG = [
    "parse",
    "cancel_itself",
    "model exits",
    "cancel",
    "close",
    "stop",
    "leave",
    "cancel_itself_at_the_end",
]
LONG += ["model cancels", "model closes", "model stops"]


@pytest.mark.parametrize("tool", [*QUICK, *(pytest.param(t, marks=pytest.mark.long) for t in LONG)])
async def test_the_server_answers_with_a_typed_error_and_serves_on(
    settings: ServerSettings, tmp_path: Path, tool: str
) -> None:
    app = tmp_path / "agents" / "good"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(AGENT)

    def body(session: str, text: str) -> dict[str, object]:
        message = {"role": "user", "parts": [{"text": text}]}
        return {"appName": "good", "userId": "ann", "sessionId": session, "newMessage": message}

    async with listening(replace(settings, agents=app.parent)) as served:
        for session in ("one", "two"):
            path = f"/apps/good/users/ann/sessions/{session}"
            assert (await served.ask("POST", path, {})).status_code == 200
        failed = await served.ask("POST", "/run", body("one", tool))
        assert failed.status_code == 500
        assert failed.json()["error"]["type"] == "ToolAbortedError"
        assert "canary" not in failed.text
        streamed = await served.ask("POST", "/run_sse", body("one", tool))
        assert "ToolAbortedError" in streamed.text
        assert "event: end" in streamed.text
        stored = await served.ask("GET", "/apps/good/users/ann/sessions/one")
        assert "canary" not in streamed.text + stored.text
        for session in ("one", "two"):
            answer = await served.ask("POST", "/run", body(session, "hello"))
            assert answer.status_code == 200
            assert answer.json()[-1]["content"]["parts"] == [{"text": "Heard hello."}]
