"""The policy of a server holds for all its apps, and a broken one keeps it from starting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.hosting.setup_error import SetupError
from tests.support.policies import AGENT, RULES
from tests.unit.server.conftest import Serve


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(AGENT)
    return tmp_path / "agents"


async def test_every_run_obeys(serve: Serve, agents: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(RULES)
    message = {"role": "user", "parts": [{"text": "Pay"}]}
    names = {"appName": "desk", "userId": "u", "sessionId": "s"}
    async with serve(agents=agents, policy=file, auto_create_session=True) as served:
        answer = await served.ask("POST", "/run", {**names, "newMessage": message})
        assert "Too much." in answer.text and "paid 500" not in answer.text
        (note,) = answer.json()[1]["customMetadata"]["policy"].values()
        assert (note["verdict"], note["rule"]) == ("deny", "big")


async def test_a_broken_policy_is_told_at_the_start(
    serve: Serve, agents: Path, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("rules: [{id: a}]\n")
    with pytest.raises(SetupError, match=r"--policy: .*policy\.yaml, line 1, rules\[0\]\.verdict"):
        async with serve(agents=agents, policy=file):
            pass
    with pytest.raises(SetupError, match="policy has to be the path of a file"):
        async with serve(agents=agents, policy=5):
            pass


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({"action": "edit", "args": {"amount": 20}}, "paid 20"),
        ({"action": "reject", "reason": "Not today."}, "'reason': 'Not today.'"),
    ],
)
async def test_answers_are_checked_and_reasons_reach_the_model(
    serve: Serve, agents: Path, tmp_path: Path, action: dict[str, Any], told: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(RULES.partition("tests:")[0].replace("deny", "ask"))
    message = {"role": "user", "parts": [{"text": "Pay"}]}
    names = {"appName": "desk", "userId": "ann", "sessionId": "s"}
    place = "/apps/desk/users/ann/sessions/s"
    async with serve(agents=agents, policy=file, auto_create_session=True) as served:
        await served.ask("POST", "/run", {**names, "newMessage": message})
        (call,) = (await served.ask("GET", "/apps/desk/approvals")).json()["approvals"]
        path = f"{place}/approvals/{call['callId']}"
        for payload in ({"args": {"amount": 20}}, {"grant": "session"}, {"amount": 20}):
            refused = await served.ask("POST", path, {"action": "approve", "payload": payload})
            assert refused.status_code == 400
            assert refused.json()["error"]["type"] == "InvalidAnswerError"
        assert (await served.ask("POST", path, action)).status_code == 202
        await served.ask("GET", f"{place}/events/stream?until=idle")
        events = (await served.ask("GET", place)).json()["events"]
        assert told in events[-1]["content"]["parts"][0]["text"]
