"""No call runs that the rules deny: in turns, edits, parallel calls, sub-agents and workflows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import Agent, App, Runner, Workflow
from ostinato.errors import AgentConfigError, InvalidAnswerError, NodeError
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import AgentTool, FunctionTool
from ostinato.tools.policy import Policy, Rule
from tests.support.optionals import present


class Till:
    """A tool, and what it was called with."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []

    def pay(self, amount: int = 10, to: str = "ann") -> str:
        """Pay somebody."""
        self.paid.append((amount, to))
        return "paid"


def rule(id: str, verdict: str, **fields: Any) -> Rule:
    return Rule.model_validate({"id": id, "verdict": verdict, **fields})


BIG = rule("big", "deny", tool="pay", args={"/amount": {"gt": 100}}, message="Ask your manager.")
MIDDLE = rule("middle", "ask", tool="pay", args={"/amount": {"gt": 50}})


def talk(
    script: list[Any], *rules: Rule, default: Any = "allow", **agent: Any
) -> tuple[Conversation, Till, ScriptedModel]:
    till, model = Till(), ScriptedModel(script)
    tools: list[Any] = agent.pop("tools", None) or [till.pay]
    root = Agent(name="clerk", model=model, tools=tools, **agent)
    app = App(name="shop", root_agent=root, policy=Policy(rules=rules, default=default))
    return Conversation(app), till, model


def responses(events: list[Any]) -> list[Any]:
    return [one.response for event in events for one in event.get_function_responses()]


def decisions(events: list[Any]) -> list[dict[str, Any]]:
    return [
        one
        for event in events
        if event.get_function_responses()
        for one in ((event.custom_metadata or {}).get("policy") or {}).values()
    ]


class _Counted(FunctionTool):
    """A tool with effects of its own before those of its function."""

    runs = 0

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        _Counted.runs += 1
        return await super().run_async(args=args, tool_context=tool_context)


@pytest.mark.parametrize(("by_policy", "before"), [(True, 0), (False, 1)])
async def test_a_policy_asks_before_a_run_async_of_its_own(by_policy: bool, before: int) -> None:
    """`require_confirmation` guards the function alone, as docs/policy.md says."""
    till, _Counted.runs = Till(), 0
    tool = _Counted(till.pay, require_confirmation=not by_policy)
    rules = [rule("all", "ask", tool="pay")] if by_policy else []
    chat, _, _ = talk([call("pay"), "Done."], *rules, tools=[tool])
    await chat.say("Pay")
    assert (_Counted.runs, till.paid) == (before, [])
    await chat.answer(chat.pending()[0], {"confirmed": True})
    assert (_Counted.runs, len(till.paid)) == (before + 1, 1)


async def test_a_denied_call_does_not_run_and_the_model_reads_why() -> None:
    chat, till, model = talk([call("pay", amount=500), "Sorry."], BIG)
    events = await chat.say("Pay 500")
    assert till.paid == []
    assert responses(events) == [
        {"error": "The policy denies this call of 'pay' (rule 'big'): Ask your manager."}
    ]
    assert decisions(events) == [
        {
            "verdict": "deny",
            "source": "function",
            "rule": "big",
            "message": "Ask your manager.",
        }
    ]
    assert "Ask your manager." in str(model.requests[1].contents)


async def test_a_call_that_no_rule_fits_runs_without_a_record() -> None:
    chat, till, _ = talk([call("pay", amount=5), "Done."], BIG)
    events = await chat.say("Pay")
    assert till.paid == [(5, "ann")]
    assert decisions(events) == []


async def test_an_approved_call_runs_once_and_a_rejected_one_does_not() -> None:
    for confirmed in (True, False):
        chat, till, _ = talk([call("pay", amount=60), "Done."], BIG, MIDDLE)
        asked = await chat.say("Pay")
        assert till.paid == [] and [one["verdict"] for one in decisions(asked)] == ["ask"]
        (request,) = chat.pending()
        assert request.name == "adk_request_confirmation"
        (event,) = [one for one in asked if request in one.get_function_calls()]
        assert present(event.custom_metadata)["policy"]
        answered = await chat.answer(request, {"confirmed": confirmed})
        assert till.paid == ([(60, "ann")] if confirmed else [])
        assert [one["by"] for one in decisions(answered)] == ["person"]


@pytest.mark.parametrize(
    ("edited", "runs"),
    [({"amount": 5}, True), ({"amount": 70}, True), ({"amount": 101}, False)],
)
async def test_edited_arguments_are_checked_again(edited: dict[str, Any], runs: bool) -> None:
    chat, till, _ = talk([call("pay", amount=60), "Done."], BIG, MIDDLE)
    await chat.say("Pay")
    await chat.answer(chat.pending()[0], {"confirmed": True, "args": edited})
    assert till.paid == ([(edited["amount"], "ann")] if runs else [])


async def test_what_a_callback_makes_of_the_arguments_is_checked() -> None:
    def double(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["amount"] *= 2

    chat, till, _ = talk([call("pay", amount=60), "No."], BIG, before_tool_callback=double)
    await chat.say("Pay")
    assert till.paid == []


async def test_a_default_argument_counts() -> None:
    free = rule("free", "deny", tool="pay", args={"/to": "ann"})
    chat, till, _ = talk([call("pay", amount=1), "No."], free)
    await chat.say("Pay")
    assert till.paid == []


async def test_the_state_counts_as_it_is_when_the_call_runs() -> None:
    def close(tool_context: Any) -> str:
        """Close the till."""
        tool_context.state["closed"] = True
        return "closed"

    closed = rule("closed", "deny", tool="pay", state={"/closed": True})
    till = Till()
    script = [call("pay", amount=1), call("close"), call("pay", amount=2), "Done."]
    chat, _, _ = talk(script, closed, tools=[till.pay, close])
    events = await chat.say("Pay")
    assert till.paid == [(1, "ann")]
    assert [one["rule"] for one in decisions(events)] == ["closed"]


async def test_one_answer_serves_the_policy_and_a_tool_that_asks_itself() -> None:
    till = Till()
    tool = FunctionTool(till.pay, require_confirmation=True)
    chat, _, _ = talk([call("pay", amount=60), "Done."], MIDDLE, tools=[tool])
    await chat.say("Pay")
    assert len(chat.pending()) == 1
    await chat.answer(chat.pending()[0], {"confirmed": True})
    assert chat.pending() == [] and till.paid == [(60, "ann")]


async def test_an_approval_is_for_one_call() -> None:
    script = [call("pay", amount=60), call("pay", amount=61), "Done."]
    chat, till, _ = talk(script, MIDDLE)
    await chat.say("Pay")
    await chat.answer(chat.pending()[0], {"confirmed": True})
    assert till.paid == [(60, "ann")] and len(chat.pending()) == 1


async def test_parallel_calls_are_decided_one_by_one() -> None:
    script = [[call("pay", amount=5), call("pay", amount=60), call("pay", amount=500)], "Done."]
    chat, till, _ = talk(script, BIG, MIDDLE)
    events = await chat.say("Pay")
    assert till.paid == [(5, "ann")]
    assert [one["verdict"] for one in decisions(events)] == ["ask", "deny"]
    await chat.answer(chat.pending()[0], {"confirmed": True})
    assert till.paid == [(5, "ann"), (60, "ann")]


async def test_a_limit_holds_over_parallel_calls_and_turns() -> None:
    few = rule("few", "allow", tool="pay", limit={"count": 3, "per": "hour"})
    script = [[call("pay", amount=n) for n in range(5)], "Done.", call("pay", amount=9), "Done."]
    chat, till, _ = talk(script, few)
    await chat.say("Pay")
    await chat.say("Pay more")
    assert len(till.paid) == 3


async def test_a_sum_is_limited_and_strange_amounts_do_not_pass() -> None:
    budget = rule("sum", "allow", limit={"sum": "/amount", "max": 100, "per": "day"})
    amounts: list[Any] = [60, -500, "many", 50, "30", 11]
    script = [*(call("pay", amount=one) for one in amounts), call("pay"), call("pay", to="bob")]
    chat, till, _ = talk([*script, "Done."], budget)
    await chat.say("Pay")
    assert [amount for amount, _ in till.paid] == [60, 30, 10]


async def test_over_its_limit_a_call_may_be_asked_about() -> None:
    few = rule("few", "allow", tool="pay", limit={"count": 1, "per": "hour", "over": "ask"})
    script = [call("pay", amount=1), call("pay", amount=2), "Done."]
    chat, till, _ = talk(script, few)
    await chat.say("Pay")
    assert till.paid == [(1, "ann")]
    await chat.answer(chat.pending()[0], {"confirmed": True})
    assert till.paid == [(1, "ann"), (2, "ann")]


async def test_a_denied_call_uses_up_no_other_limit() -> None:
    rules = [
        rule("all", "allow", limit={"count": 2, "per": "hour"}),
        rule("big", "allow", args={"/amount": {"gt": 9}}, limit={"count": 1, "per": "hour"}),
    ]
    script = [*(call("pay", amount=one) for one in (10, 11, 1)), "Done."]
    chat, till, _ = talk(script, *rules)
    await chat.say("Pay")
    assert [amount for amount, _ in till.paid] == [10, 1]


async def test_grants_cover_what_the_rule_offers_and_no_more() -> None:
    ask = rule("ask", "ask", tool="pay", grants=["session"], same=["/to"])
    script = [
        *(call("pay", amount=1, to="ann"), call("pay", amount=2, to="ann")),
        *(call("pay", amount=3, to="bob"), "Done."),
    ]
    chat, till, _ = talk(script, ask)
    await chat.say("Pay")
    arguments = chat.pending()[0].args or {}
    assert arguments["toolConfirmation"]["payload"]["grants"] == ["once", "session"]
    await chat.answer(chat.pending()[0], {"confirmed": True, "payload": {"grant": "session"}})
    assert till.paid == [(1, "ann"), (2, "ann")]
    (request,) = chat.pending()
    with pytest.raises(InvalidAnswerError, match="offers: once, session"):
        await chat.answer(request, {"confirmed": True, "payload": {"grant": "user"}})
    await chat.answer(request, {"confirmed": True, "payload": {"grant": "once"}})
    assert till.paid[-1] == (3, "bob")
    chat = Conversation(chat.runner, session_id="other")
    model: Any = chat.runner.agent.model
    model.add(call("pay", amount=4, to="ann"))
    await chat.say("Pay")
    assert len(till.paid) == 3 and len(chat.pending()) == 1


async def test_a_grant_passes_no_rule_that_denies() -> None:
    ask = rule("ask", "ask", tool="pay", grants=["user"])
    script = [call("pay", amount=1), call("pay", amount=500), "Done."]
    chat, till, _ = talk(script, ask, BIG)
    await chat.say("Pay")
    await chat.answer(chat.pending()[0], {"confirmed": True, "payload": {"grant": "user"}})
    assert till.paid == [(1, "ann")]


async def test_agents_called_as_tools_obey_too() -> None:
    till = Till()
    inner = Agent(
        name="payer",
        description="Pays.",
        model=ScriptedModel([call("pay", amount=500), call("pay", amount=5), "Paid."]),
        tools=[till.pay],
    )
    few = rule("few", "allow", tool="pay", agent="payer", limit={"count": 1, "per": "hour"})
    script = [call("payer", request="Pay"), "Done."]
    chat, _, _ = talk(script, BIG, few, tools=[AgentTool(inner)])
    await chat.say("Pay")
    assert till.paid == [(5, "ann")]
    denied = rule("no", "deny", source="agent:payer")
    inner.model = ScriptedModel([])
    chat, _, _ = talk(script, denied, tools=[AgentTool(inner)])
    assert "denies" in str(responses(await chat.say("Pay")))


async def test_the_model_is_told_that_a_call_of_an_agent_as_a_tool_requires_approval() -> None:
    till = Till()
    model = ScriptedModel([call("pay", amount=80), "Paid."])
    inner = Agent(name="payer", description="Pays.", model=model, tools=[till.pay])
    chat, _, _ = talk([call("payer", request="Pay"), "Done."], MIDDLE, tools=[AgentTool(inner)])
    (answer,) = responses(await chat.say("Pay"))
    assert "made a call of `pay`, which requires approval by a person" in str(answer)
    assert till.paid == []


@pytest.mark.parametrize("mode", ["task", "single_turn"])
async def test_delegated_agents_obey_too(mode: Any) -> None:
    for rules in ([rule("no", "deny", source="agent:payer")], [BIG]):
        till = Till()
        script: list[Any] = [call("pay", amount=500), call("pay", amount=5)]
        script.append(call("finish_task", result="Paid.") if mode == "task" else "Paid.")
        payer = Agent(
            name="payer",
            description="Pays.",
            mode=mode,
            model=ScriptedModel(script if rules == [BIG] else []),
            tools=[till.pay],
        )
        model = ScriptedModel([call("payer", request="Pay"), "Done."])
        root = Agent(name="clerk", model=model, sub_agents=[payer])
        policy = Policy(rules=tuple(rules))
        events = await Conversation(App(name="shop", root_agent=root, policy=policy)).say("Pay")
        assert till.paid == ([(5, "ann")] if rules == [BIG] else [])
        assert [one["verdict"] for one in decisions(events)] == ["deny"]


async def test_a_task_cannot_be_asked_about() -> None:
    payer = Agent(name="payer", description="Pays.", mode="task", model=ScriptedModel([]))
    model = ScriptedModel([call("payer", request="Pay"), "I cannot."])
    root = Agent(name="clerk", model=model, sub_agents=[payer])
    policy = Policy(rules=(rule("ask", "ask", source="agent:payer"),))
    events = await Conversation(App(name="shop", root_agent=root, policy=policy)).say("Pay")
    assert "requires approval" in str(responses(events))


async def test_transfers_are_calls() -> None:
    model = ScriptedModel([call("transfer_to_agent", agent_name="payer"), "I cannot."])
    inner = Agent(name="payer", description="Pays.", model=ScriptedModel([]))
    root = Agent(name="clerk", model=model, sub_agents=[inner])
    denied = Policy(rules=(rule("no", "deny", source="agent:payer"),))
    events = await Conversation(App(name="shop", root_agent=root, policy=denied)).say("Go")
    assert {event.author for event in events} == {"clerk"}


def give(amount: int) -> Any:
    def arguments() -> dict[str, Any]:
        return {"amount": amount}

    return arguments


async def test_the_tool_of_a_node_obeys_and_cannot_ask() -> None:
    for made in (BIG, MIDDLE):
        till = Till()
        amount = 500 if made is BIG else 60
        flow = Workflow(name="flow", edges=[("START", give(amount), FunctionTool(till.pay))])
        app = App(name="shop", root_agent=flow, policy=Policy(rules=(made,)))
        with pytest.raises(NodeError, match="may not run: The policy"):
            await Conversation(app).say("Go")
        assert till.paid == []


async def test_tools_of_the_runtime_need_no_rule() -> None:
    class Total(BaseModel):
        total: int

    chat, _, _ = talk([call("set_model_response", total=3)], default="deny", output_schema=Total)
    events = await chat.say("Add")
    assert "denies" not in str(responses(events))


async def test_runner_and_app_add_up() -> None:
    till = Till()
    root = Agent(
        name="clerk",
        model=ScriptedModel([call("pay", amount=500), call("pay", amount=5, to="eve"), "Done."]),
        tools=[till.pay],
    )
    eve = Policy(rules=(rule("eve", "deny", args={"/to": "eve"}),))
    runner = Runner(
        app=App(name="shop", root_agent=root, policy=Policy(rules=(BIG,))),
        session_service=InMemorySessionService(),
        policy=eve,
    )
    await Conversation(runner).say("Pay")
    assert till.paid == []


def test_what_is_no_policy_is_refused() -> None:
    root = Agent(name="clerk", model=ScriptedModel([]))
    with pytest.raises(ValueError, match="must be a Policy, not str"):
        App(name="shop", root_agent=root, policy="policy.yaml")
    with pytest.raises(AgentConfigError, match="must be a Policy, not dict"):
        Runner(
            agent=root,
            app_name="shop",
            session_service=InMemorySessionService(),
            policy={},  # type: ignore[arg-type]
        )


def test_limits_need_a_store_that_refuses_stale_writes() -> None:
    class Own(InMemorySessionService):
        async def append_event(self, session: Any, event: Any) -> Any:
            return await super().append_event(session, event)

    root = Agent(name="clerk", model=ScriptedModel([]))
    few = Policy(rules=(rule("few", "allow", limit={"count": 1, "per": "hour"}),))
    with pytest.raises(AgentConfigError, match="limits or grants"):
        Runner(agent=root, app_name="shop", session_service=Own(), policy=few)


FEW = rule("few", "allow", tool="pay", limit={"count": 1, "per": "hour", "by": "app"})
TOTAL = rule(
    "total",
    "allow",
    tool="pay",
    limit={"sum": "/amount", "max": 100, "per": "hour", "by": "app", "over": "ask"},
)


@pytest.mark.parametrize("rules", [(FEW, TOTAL), (TOTAL, FEW)])
async def test_a_limit_that_denies_comes_before_one_that_asks(rules: tuple[Rule, ...]) -> None:
    script = [call("pay", amount=80), call("pay", amount=80), "Done."]
    clerk, till, _ = talk(script, *rules)
    events = await clerk.say("Pay twice.")
    assert not clerk.pending()
    assert "(rule 'few')" in responses(events)[1]["error"]
    assert len(till.paid) == 1


async def test_a_call_that_waits_at_one_limit_takes_no_room_from_parallel_calls() -> None:
    clerk, till, _ = talk([[call("pay", amount=101)] * 3, "Done."], FEW, TOTAL)
    events = await clerk.say("Pay.")
    assert len(clerk.pending()) == 3
    assert not [one for one in responses(events) if one and "denies" in str(one)]
    assert till.paid == []
