"""What a person answers to a policy's question: reasons, edits and grants."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import Agent, App, Runner
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.tools.policy import Policy, Rule

ASKS = Rule(id="large", verdict="ask", tool="pay", args={"/amount": {"gt": 100}}, message="Why?")


class Till:
    """A tool, and what it was called with."""

    def __init__(self) -> None:
        self.paid: list[tuple[float, str]] = []

    def pay(self, amount: float, to: str = "ann") -> str:
        """Pay somebody."""
        self.paid.append((amount, to))
        return "paid"


async def ask(*rules: Rule, tool: Any = None) -> tuple[Conversation, Till]:
    """Return a conversation in which a payment of 200 waits for a person."""
    till, model = Till(), ScriptedModel([call("pay", amount=200), "Done."])
    root = Agent(name="clerk", model=model, tools=[tool(till.pay) if tool else till.pay])
    chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=rules or (ASKS,))))
    await chat.say("Pay 200")
    return chat, till


def read_result(events: list[Any]) -> tuple[Any, Any]:
    """Return the only response, and what its event says of the policy's decision."""
    (event,) = [one for one in events if one.get_function_responses()]
    (response,) = event.get_function_responses()
    return response.response, (event.custom_metadata or {}).get("policy", {}).get(response.id)


def asking(func: Any) -> FunctionTool:
    return FunctionTool(func, require_confirmation=True)


@pytest.mark.parametrize("tool", [None, asking])
@pytest.mark.parametrize("edit", [{}, {"args": {"amount": 20}}])
async def test_a_rejection_tells_the_model_its_reason(tool: Any, edit: dict[str, Any]) -> None:
    chat, till = await ask(tool=tool)
    reason = {"confirmed": False, "payload": {"reason": "Too much."}, **edit}
    result, note = read_result(await chat.answer(chat.pending()[0], reason))
    assert result == {"error": "This tool call is rejected.", "reason": "Too much."}
    assert (note["verdict"], note["by"], note["rule"]) == ("deny", "person", "large")
    assert till.paid == []


async def test_a_rejection_holds_without_the_policy_that_asked() -> None:
    chat, till = await ask()
    root = Agent(name="clerk", model=ScriptedModel(["Done."]), tools=[till.pay])
    app = App(name="shop", root_agent=root)
    later = Conversation(Runner(app=app, session_service=chat.runner.session_service))
    answer = {"confirmed": False}
    result, _ = read_result(await later.answer(chat.pending()[0], answer))
    assert result == {"error": "This tool call is rejected."} and till.paid == []


async def test_an_edit_that_no_rule_fits_any_more_records_the_person() -> None:
    chat, till = await ask()
    answer = {"confirmed": True, "args": {"amount": 20}}
    _, note = read_result(await chat.answer(chat.pending()[0], answer))
    assert till.paid == [(20, "ann")]
    assert note == {
        "verdict": "allow",
        "source": "function",
        "rule": "large",
        "message": "Why?",
        "by": "person",
        "grant": "once",
    }
