"""The example in YAML and its generated twin: the same program, the same traces."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

from ostinato.agent_source.program import program_of
from ostinato.agents.config_agent_utils import from_config
from ostinato.testing import Conversation, ScriptedModel, call, trace
from tests.unit.examples.loading import FOLDER, put_models

BAKERY = FOLDER / "bakery"
PAIR = ("root_agent.yaml", "generated.py")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def load(name: str) -> Any:
    if name.endswith(".yaml"):
        return from_config(BAKERY / name)
    return importlib.reload(importlib.import_module("bakery.generated")).root_agent


async def talk_with(root: Any) -> tuple[list[str], dict[str, Any], list[Any]]:
    models = {
        "bakery": ScriptedModel(
            [call("list_breads"), call("transfer_to_agent", agent_name="orders")]
        ),
        "orders": ScriptedModel(
            [call("order_bread", bread="rye", number=3), "Done.",
             call("order_bread", bread="rye", number=30), "Then not."]
        ),
    }  # fmt: skip
    put_models(root, models.__getitem__)
    talk = Conversation(root)
    lines = trace(await talk.say("Three rye, please"))
    lines += trace(await talk.say("And thirty more"))
    (waiting,) = talk.pending()
    lines += trace(await talk.answer(waiting, {"confirmed": False}))
    asked = [
        (name, one.tool_names, one.instruction)
        for name, model in models.items()
        for one in model.requests
    ]
    lines = [re.sub(r"adk-[0-9a-f-]{36}", "adk-1", line) for line in lines]
    return lines, dict((await talk.session()).state), asked


@pytest.mark.usefixtures("folder")
async def test_both_do_the_same() -> None:
    described, generated = [await talk_with(load(name)) for name in PAIR]
    assert described == generated
    assert (described[1]["loaves"], described[1]["customers"]) == (3, 3)
    assert "orders: order_bread -> {'total': 12.6}" in described[0]
    assert "orders: order_bread -> {'error': 'This tool call is rejected.'}" in described[0]


@pytest.mark.usefixtures("folder")
def test_the_twin_is_what_generate_writes() -> None:
    twin = (BAKERY / "generated.py").read_text(encoding="utf-8")
    assert program_of(BAKERY / "root_agent.yaml") == twin
