"""What a person answers to a policy's question: reasons, edits and grants."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ostinato import Agent, App, Runner
from ostinato.errors import InvalidAnswerError
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


EDIT = {"amount": 20, "to": "ann"}
PLACE = """beside 'confirmed': {"confirmed": true, "args": {...}}. The call stays open."""
OFFERS = ASKS.model_copy(update={"grants": ("session", "24h")})


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        ({"args": EDIT}, PLACE),
        ({"arguments": EDIT}, PLACE),
        ({"amount": 20}, PLACE),
        ({"grant": "once", "grants": [], "args": EDIT}, PLACE),
        ([EDIT], PLACE),
        ("yes", PLACE),
        ({"grant": "session"}, "'grant' is 'session', but the rule that asks offers no grants"),
        ({"grant": 7}, "'grant' is 7, but"),
    ],
)
@pytest.mark.parametrize("tool", [None, asking])
async def test_what_a_policy_does_not_ask_for_is_refused_and_the_call_stays_open(
    payload: Any, fault: str, tool: Any
) -> None:
    chat, till = await ask(tool=tool)
    request = chat.pending()[0]
    with pytest.raises(InvalidAnswerError, match=re.escape(fault)):
        await chat.answer(request, {"confirmed": True, "payload": payload})
    assert till.paid == []
    await chat.answer(request, {"confirmed": True, "args": EDIT})
    assert till.paid == [(20, "ann")]


async def test_a_grant_that_the_rule_does_not_offer_is_refused() -> None:
    chat, till = await ask(OFFERS)
    request = chat.pending()[0]
    payload = (request.args or {})["toolConfirmation"]["payload"]
    for wanted in ("forever", "user", None):
        with pytest.raises(InvalidAnswerError, match="offers: once, session, 24h"):
            await chat.answer(request, {"confirmed": True, "payload": {"grant": wanted}})
    assert till.paid == []
    await chat.answer(request, {"confirmed": True, "payload": payload})  # as clients echo it
    assert till.paid == [(200, "ann")]


async def test_a_tool_that_sees_the_answer_may_have_a_payload_of_its_own() -> None:
    seen: list[Any] = []

    def pay(amount: float, tool_context: Any) -> str:
        """Pay somebody."""
        seen.append(tool_context.tool_confirmation.payload)
        return "paid"

    model = ScriptedModel([call("pay", amount=200), "Done."])
    root = Agent(name="clerk", model=model, tools=[pay])
    chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=(ASKS,))))
    await chat.say("Pay 200")
    request = chat.pending()[0]
    with pytest.raises(InvalidAnswerError, match="'payload' holds 'args'"):
        await chat.answer(request, {"confirmed": True, "payload": {"args": EDIT}})
    await chat.answer(request, {"confirmed": True, "payload": {"days": 3}})
    assert seen == [{"days": 3}]


async def test_an_answer_to_the_tools_own_question_grants_nothing() -> None:
    paid: list[float] = []

    def pay(amount: float, tool_context: Any) -> str:
        """Pay from a research grant."""
        answer = tool_context.tool_confirmation
        if "level" not in (answer.payload or {}):
            tool_context.request_confirmation(hint="Which?", payload={"level": "", "grant": ""})
            return "asked"
        paid.append(amount)
        return "paid"

    rule = Rule(
        id="large", verdict="ask", tool="pay", args={"/amount": {"gt": 100}}, grants=["user"]
    )
    model = ScriptedModel([call("pay", amount=200), "Done.", call("pay", amount=300), "Done."])
    root = Agent(name="clerk", model=model, tools=[pay])
    chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=[rule])))
    await chat.say("Pay 200")
    await chat.answer(chat.pending()[0], {"confirmed": True, "payload": {"grant": "once"}})
    own = {"level": "gold", "grant": "user"}
    await chat.answer(chat.pending()[0], {"confirmed": True, "payload": own})
    assert paid == [200]
    (asked,) = chat.pending()  # about the next payment
    assert "grants" in (asked.args or {})["toolConfirmation"]["payload"]
