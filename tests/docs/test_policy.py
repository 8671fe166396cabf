"""The worked example of docs/policy.md does what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.policy.policy_file import read_policy_file

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def policy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "policy.yaml"
    file.write_text(block("yaml"), encoding="utf-8")
    return file


def test_every_policy_of_the_page_passes_its_own_tests(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for number, text in enumerate(blocks):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text, encoding="utf-8")
        found = read_policy_file(file)
        assert len(found.tests) == 4 and found.run_tests() == []


async def test_the_answers_of_the_page_do_what_it_says(policy_file: Path) -> None:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    yes, edit, no = (json.loads(line) for line in block("json").splitlines())
    wanted = ["400 refunded to ann", "80 refunded to ann", "Ann was refunded yesterday."]
    for answer, want in zip((yes, edit, no), wanted, strict=True):
        script = [call("refund", amount=400, customer="ann"), "Done."]
        names["app"].root_agent.model = ScriptedModel(script)
        chat = Conversation(names["app"])
        await chat.say("Refund")
        assert want in str(await chat.answer(chat.pending()[0], answer))


async def test_the_app_obeys(policy_file: Path) -> None:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    agent = names["app"].root_agent
    amounts = [80, 9000, 400]
    script = [*(call("refund", amount=one, customer="ann") for one in amounts), "Done."]
    agent.model = ScriptedModel(script)
    chat = Conversation(names["app"])
    events = await chat.say("Refund")
    answers = [str(one.response) for event in events for one in event.get_function_responses()]
    assert "80 refunded to ann" in answers[0]
    assert "made by the finance team" in answers[1]
    (request,) = chat.pending()
    payload = (request.args or {})["toolConfirmation"]["payload"]
    assert payload["grants"] == ["once", "session", "24h"]
    answered = await chat.answer(request, {"confirmed": True, "payload": {"grant": "session"}})
    assert "400 refunded to ann" in str(answered)
    agent.model.add(call("refund", amount=300, customer="ann"), "Done.")
    assert "300 refunded to ann" in str(await chat.say("Refund more"))
    agent.model.add(call("refund", amount=300, customer="bob"))
    await chat.say("Refund bob")
    assert len(chat.pending()) == 1
