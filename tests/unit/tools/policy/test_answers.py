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


class Held(FunctionTool):
    """A tool of a program that has a `run_async` of its own and reads no answer."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await super().run_async(args=args, tool_context=tool_context)


@pytest.mark.parametrize("offers", [True, False, None])
@pytest.mark.parametrize("make", [FunctionTool, Held])
@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ("x", "no object"),
        ({"Grant": "session"}, "'Grant'"),
        ({"grant": "once", "days": 3}, "'days'"),
    ],
)
async def test_a_payload_that_nobody_asks_for_is_refused_though_the_tool_has_a_context(
    payload: Any, named: str, make: Any, offers: bool | None
) -> None:
    paid: list[float] = []

    def pay(amount: float, tool_context: Any) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    tool = make(pay, require_confirmation=offers is None)
    root = Agent(
        name="clerk", model=ScriptedModel([call("pay", amount=200), "Done."]), tools=[tool]
    )
    rules = () if offers is None else (OFFERS if offers else ASKS,)
    chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=rules)))
    await chat.say("Pay 200")
    request = chat.pending()[0]
    with pytest.raises(InvalidAnswerError, match=named):
        await chat.answer(request, {"confirmed": True, "payload": payload})
    assert paid == []
    await chat.answer(request, {"confirmed": True, "payload": {}})
    assert paid == [200]


async def test_a_call_that_no_rule_asks_about_takes_no_grant() -> None:
    till = Till()
    model = ScriptedModel([call("pay", amount=200), "Done."])
    chat = Conversation(Agent(name="clerk", model=model, tools=[asking(till.pay)]))
    await chat.say("Pay 200")
    request = chat.pending()[0]
    with pytest.raises(InvalidAnswerError, match="'payload' holds 'grant'"):
        await chat.answer(request, {"confirmed": True, "payload": {"grant": "session"}})
    result, _ = read_result(
        await chat.answer(request, {"confirmed": False, "payload": {"reason": "No."}})
    )
    assert (result["reason"], till.paid) == ("No.", [])


def read_days(tool_context: Any) -> Any:
    return tool_context.tool_confirmation.payload


def of_itself(seen: list[Any]) -> Any:
    """Return a tool that asks in its body, with no payload, and reads one."""

    def pay(amount: float, tool_context: Any) -> str:
        """Pay somebody."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="How many days?")
            return "asked"
        seen.append(tool_context.tool_confirmation.payload)
        return "paid"

    return pay


def by_helper(seen: list[Any]) -> Any:
    """Return a tool that is asked about by the runtime, and reads the answer in a function."""

    def pay(amount: float, tool_context: Any) -> str:
        """Pay somebody."""
        seen.append(read_days(tool_context))
        return "paid"

    return asking(pay)


def by_method(seen: list[Any]) -> Any:
    """Return a tool of a class of its own that reads the answer."""

    class Reading(FunctionTool):
        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            answer = tool_context.tool_confirmation
            if answer is not None:
                seen.append(answer.payload)
            return await super().run_async(args=args, tool_context=tool_context)

    def pay(amount: float) -> str:
        """Pay somebody."""
        return "paid"

    return Reading(pay, require_confirmation=True)


@pytest.mark.parametrize("make", [of_itself, by_helper, by_method])
async def test_a_tool_that_asks_or_reads_the_answer_takes_any_payload(make: Any) -> None:
    seen: list[Any] = []
    model = ScriptedModel([call("pay", amount=200), "Waiting.", "Done."])
    chat = Conversation(Agent(name="clerk", model=model, tools=[make(seen)]))
    await chat.say("Pay 200")
    await chat.answer(chat.pending()[0], {"confirmed": True, "payload": {"days": 3}})
    assert seen == [{"days": 3}]


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
