"""A stand-in for models without a key: in `ostinato web`, which says so, and not in `serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server.conftest import Serve

AGENT = "from ostinato.agents import Agent\nroot_agent = Agent(name='root', model='{}')\n"
MESSAGE = {"role": "user", "parts": [{"text": "hi"}]}
ASKED = {"appName": "good", "userId": "u", "sessionId": "s", "newMessage": MESSAGE}


@pytest.fixture
def keyless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, model in (("good", "gemini-2.5-flash"), ("two", "gemni-2.5")):
        (tmp_path / "agents" / name).mkdir(parents=True)
        (tmp_path / "agents" / name / "agent.py").write_text(AGENT.format(model))
    return tmp_path / "agents"


async def test_it_answers_and_the_list_of_apps_says_what_to_set(
    keyless: Path, serve: Serve
) -> None:
    async with serve(agents=keyless, stand_in=True, reload=True) as served:
        good, two = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
        assert good["notice"] == (
            "gemini-2.5-flash is not available (no key): using the offline stand-in, a small "
            "rule-based program, not a language model. To use the model, set "
            "GOOGLE_API_KEY or GEMINI_API_KEY in the agent's .env file, or in the environment "
            "before the start."
        )
        assert "notice" not in two
        assert two["error"].startswith(
            "App 'two' cannot be loaded: Agent 'root': Model gemni-2.5 not found. "
        )
        await served.ask("POST", "/apps/good/users/u/sessions/s", {})
        answer = await served.ask("POST", "/run", ASKED)
        assert answer.status_code == 200 and answer.json()[0]["content"]["parts"][0]["text"]


async def test_without_it_the_error_is_told_and_no_notice(keyless: Path, serve: Serve) -> None:
    async with serve(agents=keyless) as served:
        good, _ = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
        assert "notice" not in good
        await served.ask("POST", "/apps/good/users/u/sessions/s", {})
        assert (await served.ask("POST", "/run", ASKED)).status_code == 503
