"""An approval holds for the arguments that the person was shown, whatever changes them later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, cycle, repeat
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, Field

from ostinato import Agent, App
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import AgentTool, FunctionTool
from ostinato.tools.policy import Policy, Rule


def rule(id: str, verdict: str, **fields: Any) -> Rule:
    return Rule.model_validate({"id": id, "verdict": verdict, "tool": "pay", **fields})


BIG = rule(
    "big", "ask", args={"/amount": {"gt": 100}}, grants=["session"], same=["/amount"], message="!"
)
BUDGET = rule("budget", "allow", limit={"sum": "/amount", "max": 100, "per": "day"})


class Desk:
    """An agent that pays, and a callback that says how much."""

    def __init__(
        self, *rules: Rule, amounts: Iterator[Any] | None = None, calls: int = 1, **settings: Any
    ) -> None:
        self.paid: list[Any] = []
        self._amounts = amounts

        def pay(amount: float = 0, to: str = "") -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        script = [*[call("pay", amount=1, to="ann") for _ in range(calls)], "Done."]
        root = Agent(
            name="clerk",
            model=ScriptedModel(script),
            tools=[FunctionTool(pay, **settings)],
            before_tool_callback=None if amounts is None else self._change,
        )
        self.chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=rules)))

    def _change(self, tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        assert self._amounts is not None
        args["amount"] = next(self._amounts)

    @property
    def hint(self) -> str:
        (question,) = self.chat.pending()
        return (question.args or {})["toolConfirmation"]["hint"]

    async def approve(self, **answer: Any) -> list[Any]:
        events = await self.chat.answer(self.chat.pending()[0], {"confirmed": True, **answer})
        return [one.response for event in events for one in event.get_function_responses()]


async def test_the_person_is_shown_what_the_rule_judged_and_that_runs() -> None:
    desk = Desk(BIG, amounts=repeat(500))
    await desk.chat.say("Pay")
    (question,) = desk.chat.pending()
    assert (question.args or {})["originalFunctionCall"]["args"] == {"amount": 1, "to": "ann"}
    assert desk.hint.endswith(
        "(rule 'big'): ! It runs with other arguments than the model gave: {\"amount\": 500}"
    )
    await desk.approve()
    assert desk.paid == [500]


async def test_a_question_about_unchanged_arguments_says_nothing_of_changes() -> None:
    desk = Desk(rule("all", "ask"))
    await desk.chat.say("Pay")
    assert desk.hint == "The policy requires approval of this call of 'pay' (rule 'all')."


async def test_other_arguments_at_the_resume_are_asked_about_again() -> None:
    desk = Desk(BIG, amounts=chain([500, 900_000], repeat(700)))
    await desk.chat.say("Pay")
    await desk.approve()
    assert desk.paid == [] and "900000" in desk.hint
    await desk.approve()
    assert desk.paid == [] and "700" in desk.hint
    await desk.approve()
    assert desk.paid == [700]


async def test_an_edit_holds_for_what_the_person_wrote() -> None:
    desk = Desk(BIG, amounts=repeat(500))
    await desk.chat.say("Pay")
    await desk.approve(args={"amount": 180, "to": "ann"})
    assert desk.paid == [] and '{"amount": 500}' in desk.hint
    await desk.approve()
    assert desk.paid == [500]


async def test_other_arguments_at_the_resume_that_no_rule_asks_about_run() -> None:
    desk = Desk(BIG, amounts=chain([500], repeat(2)))
    await desk.chat.say("Pay")
    await desk.approve()
    assert desk.paid == [2]


async def test_arguments_that_change_each_time_are_not_asked_about_for_ever() -> None:
    desk = Desk(BIG, amounts=iter(range(500, 600)))
    await desk.chat.say("Pay")
    asked = 0
    answers: list[Any] = []
    while desk.chat.pending():
        answers, asked = await desk.approve(), asked + 1
    assert asked == 5 and desk.paid == []
    assert "arguments change after each approval" in str(answers)


async def test_a_grant_is_bound_to_what_was_shown() -> None:
    desk = Desk(BIG, amounts=chain([500, 700, 700, 700], repeat(500)), calls=3)
    await desk.chat.say("Pay")
    await desk.approve(payload={"grant": "session"})
    assert desk.paid == []  # 700 was not shown
    await desk.approve(payload={"grant": "session"})
    assert desk.paid == [700, 700] and '{"amount": 500}' in desk.hint


async def test_an_approval_of_the_tool_s_own_question_does_not_pass_a_rule() -> None:
    desk = Desk(BIG, amounts=chain([1], repeat(500)), require_confirmation=True)
    await desk.chat.say("Pay")
    await desk.approve()
    assert desk.paid == [] and '{"amount": 500}' in desk.hint
    await desk.approve()
    assert desk.paid == [500]


async def test_an_edit_is_counted_with_its_own_amount() -> None:
    for edited, paid in ((5_000, []), (100, [100]), (2, [2])):
        desk = Desk(BUDGET, require_confirmation=True)
        await desk.chat.say("Pay")
        await desk.approve(args={"amount": edited, "to": "ann"})
        assert desk.paid == paid


async def test_a_call_that_never_ran_gives_its_amount_back() -> None:
    desk = Desk(
        *(BUDGET, rule("few", "allow", args={"/to": "ann"}, limit={"count": 1, "per": "day"})),
        amounts=chain([90], repeat(100)),
        calls=2,
        require_confirmation=True,
    )
    await desk.chat.say("Pay")
    await desk.chat.answer(desk.chat.pending()[0], {"confirmed": False})
    await desk.approve()
    assert desk.paid == [100]


async def test_an_edit_that_leaves_a_rule_frees_its_limit() -> None:
    few = rule("few", "allow", args={"/to": "ann"}, limit={"count": 1, "per": "day"})
    desk = Desk(few, calls=2, require_confirmation=True)
    await desk.chat.say("Pay")
    await desk.approve(args={"amount": 2, "to": "bob"})
    await desk.approve()
    assert desk.paid == [2, 1]


async def test_what_a_callback_changes_later_reaches_neither_rules_nor_tool() -> None:
    kept: list[dict[str, Any]] = []
    paid: list[int] = []

    def keep(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        kept.append(args)

    def pay(amount: int, lines: list[int]) -> str:
        """Pay."""
        paid.extend([amount, *lines])
        return "paid"

    class Late(Policy):
        def decide(self, request: Any) -> Any:
            decision = super().decide(request)
            kept[-1]["amount"], kept[-1]["lines"][0] = 500, 500
            return decision

    root = Agent(
        name="clerk",
        model=ScriptedModel([call("pay", amount=1, lines=[2]), "Done."]),
        tools=[pay],
        before_tool_callback=keep,
    )
    await Conversation(App(name="shop", root_agent=root, policy=Late(rules=(BIG,)))).say("Pay")
    assert paid == [1, 2]


class _Readings:
    """Arguments that have another value at each reading."""

    def __init__(self, *amounts: float) -> None:
        self.amounts = cycle(amounts)
        readings = self

        class Made(BaseModel):
            amount: float = Field(default_factory=lambda: next(readings.amounts))

        class Checked(BaseModel):
            amount: Annotated[
                float, BeforeValidator(lambda v: next(readings.amounts) if v == "all" else v)
            ]

        class Refused(BaseModel):
            amount: Annotated[float, BeforeValidator(readings.refuse_once)]

        self.kinds: dict[str, Any] = {"made": Made, "checked": Checked, "refused": Refused}
        self.given = {"made": {}, "checked": {"amount": "all"}, "refused": {"amount": "all"}}

    def refuse_once(self, value: Any) -> Any:
        amount = next(self.amounts)
        if amount < 0:
            raise ValueError("not now")
        return amount


def _list_amounts(paid: list[float], kind: Any) -> Any:
    def pay(order: kind, tool_context: Any) -> str:  # type: ignore[valid-type]
        """Pay."""
        paid.append(order.amount)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return "paid"

    pay.__annotations__["order"] = kind
    return pay


@pytest.mark.parametrize("kind", ["made", "checked", "refused"])
async def test_the_tool_gets_the_reading_that_was_judged(kind: str) -> None:
    no = rule("no", "deny", args={"/order/amount": {"gt": 100}})
    some = rule("some", "allow", limit={"sum": "/order/amount", "max": 60, "per": "day"})
    for amounts in ((-50, 5_000), (5_000, 50), (50, 5_000)):
        readings, paid = _Readings(*amounts), list[float]()
        script = [*[call("pay", order=readings.given[kind])] * 4, "Done."]
        tool = _list_amounts(paid, readings.kinds[kind])
        root = Agent(name="clerk", model=ScriptedModel(script), tools=[tool])
        policy = Policy(rules=[no, some])
        await Conversation(App(name="shop", root_agent=root, policy=policy)).say("Pay")
        assert all(one <= 100 for one in paid) and sum(paid) <= 60


async def test_an_agent_as_a_tool_gets_the_reading_that_was_judged() -> None:
    for amounts in ((50, 5_000), (5_000, 50)):
        readings = _Readings(*amounts)
        inner = Agent(
            name="payer",
            description="Pays.",
            model=(model := ScriptedModel(["Paid."])),
            input_schema=readings.kinds["made"],
        )
        root = Agent(
            name="clerk",
            model=ScriptedModel([call("payer"), "Done."]),
            tools=[AgentTool(inner)],
        )
        no = rule("no", "deny", args={"/amount": {"gt": 100}}).model_copy(update={"tool": ("*",)})
        await Conversation(App(name="shop", root_agent=root, policy=Policy(rules=[no]))).say("Pay")
        assert "5000" not in str([one.contents for one in model.requests])
        assert len(model.requests) == (amounts[0] == 50)


async def test_another_default_at_the_resume_is_asked_about_again() -> None:
    readings, paid = _Readings(500, 5_000, 5_000), list[float]()
    ask = rule("ask", "ask", args={"/order/amount": {"gt": 100}})
    tool = _list_amounts(paid, readings.kinds["made"])
    root = Agent(name="clerk", model=ScriptedModel([call("pay", order={}), "Done."]), tools=[tool])
    chat = Conversation(App(name="shop", root_agent=root, policy=Policy(rules=[ask])))
    for shown in (500, 5_000):
        await chat.say("Pay") if not chat.pending() else None
        hint = (chat.pending()[0].args or {})["toolConfirmation"]["hint"]
        assert f'{{"/order/amount": {shown}.0}}' in hint or f'"/order/amount": {shown}' in hint
        await chat.answer(chat.pending()[0], {"confirmed": True})
    assert paid == [5_000]


async def test_without_a_policy_a_tool_reads_its_arguments_itself() -> None:
    readings, paid = _Readings(1, 2, 3), list[float]()
    script = [*[call("pay", order={})] * 3, "Done."]
    tool = _list_amounts(paid, readings.kinds["made"])
    root = Agent(name="clerk", model=ScriptedModel(script), tools=[tool])
    await Conversation(App(name="shop", root_agent=root)).say("Pay")
    assert paid == [1, 2, 3]
