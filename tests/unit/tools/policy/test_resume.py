"""Whatever a process dies of: what the rules deny never runs, and limits count a call once."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato import types
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool, FunctionTool
from ostinato.tools.policy import Policy, Rule, ToolRequest
from tests.support import properties as properties
from tests.unit.durable.crash import Life, Scenario, World, calls_named

ASK = "adk_request_confirmation"
RULES = (
    {"id": "big", "verdict": "deny", "tool": "pay", "args": {"/amount": {"gt": 100}}},
    {"id": "mid", "verdict": "ask", "tool": "pay", "args": {"/amount": {"gt": 50}}},
    {"id": "few", "verdict": "allow", "tool": "pay", "limit": {"count": 2, "per": "hour"}},
)
POLICY = Policy(rules=tuple(Rule.model_validate(one) for one in RULES))


def once(amounts: list[int]) -> FunctionModel:
    """A model that pays these amounts at once, and then says that it is done."""

    def answer(request: Any) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        if any(part.function_call for part in parts):
            return "Done."
        return [call("pay", amount=one) for one in amounts]

    return FunctionModel(answer)


def delegate(request: Any) -> Any:
    parts = [part for content in request.contents for part in content.parts or ()]
    return "Done." if any(part.function_call for part in parts) else call("payer", request="Pay")


def make_life(path: Path, amounts: list[int], paid: list[int], nested: bool, edit: Any) -> Life:
    def tree(world: World) -> Agent:
        async def pay(amount: int, tool_context: Any) -> str:
            """Pay."""
            world.effect(tool_context, "pay")
            paid.append(amount)
            return "paid"

        payer = Agent(name="payer", description="Pays.", model=once(amounts), tools=[pay])
        if not nested:
            return payer
        return Agent(name="root", model=FunctionModel(delegate), tools=[AgentTool(payer)])

    def approve(log: list[Any]) -> Any:
        asked = calls_named(log, ASK)
        if not asked:
            return "Thanks."
        answer = {"confirmed": True} if edit is None else {"confirmed": True, "args": edit}
        return types.UserContent(
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(id=one.id, name=ASK, response=answer)
                )
                for one in asked
            ]
        )

    life = Life(Scenario(tree, "Go", approve), path, resumable=False)
    life.policy = POLICY
    return life


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    amounts=st.lists(st.sampled_from([1, 60, 70, 101, 500]), min_size=1, max_size=4),
    deaths=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=3),
    nested=st.booleans(),
    edit=st.sampled_from([None, {"amount": 2}, {"amount": 80}, {"amount": 999}]),
)
async def test_no_call_runs_that_the_rules_deny(
    tmp_path_factory: pytest.TempPathFactory,
    amounts: list[int],
    deaths: list[tuple[int, bool]],
    nested: bool,
    edit: Any,
) -> None:
    paid: list[int] = []
    life = make_life(tmp_path_factory.mktemp("life") / "s.db", amounts, paid, nested, edit)
    for at, after in deaths:
        if await life.process(at, after):
            break
    else:
        while not await life.process():
            pass
    approved = 80 if edit == {"amount": 80} else None
    for amount in paid:
        verdict = POLICY.decide(ToolRequest("pay", {"amount": amount}, "payer")).verdict
        assert verdict != "deny"
        if verdict == "ask":  # a person has approved it; within a tool none can be asked
            assert not nested and (edit is None or amount == approved)
    assert len(life.world.effects) <= 2


MOST = 80
SUM = Rule.model_validate(
    {
        "id": "sum",
        "verdict": "allow",
        "tool": "pay",
        "limit": {"sum": "/amount", "max": MOST, "per": "hour"},
    }
)
SHOWN = re.compile(r'{"amount": (\d+)}')


class Till:
    """What was paid by which call, and what a person approved for it.

    Args:
      amounts: what the model pays.
      changes: what a callback sets at each pass; None to leave the amount.
      edits: what the person writes in place of the amount at each answer; None to approve.
      asks: whether the tool asks by itself too.
    """

    def __init__(
        self, amounts: list[int], changes: list[int | None], edits: list[int | None], asks: bool
    ) -> None:
        self.paid: list[tuple[str, int]] = []
        self.approved: dict[str, set[int]] = {}
        self._amounts, self._asks = amounts, asks
        self._changes, self._edits = cycle(changes), cycle(edits)

    def make_tree(self, world: World) -> Agent:
        async def pay(amount: int, tool_context: Any) -> str:
            """Pay."""
            world.effect(tool_context, "pay")
            self.paid.append((tool_context.function_call_id, amount))
            return "paid"

        def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
            amount = next(self._changes)
            if amount is not None:
                args["amount"] = amount

        return Agent(
            name="payer",
            model=once(self._amounts),
            tools=[FunctionTool(pay, require_confirmation=self._asks)],
            before_tool_callback=change,
        )

    def answer(self, log: list[Any]) -> Any:
        done = {one.id for event in log for one in event.get_function_responses()}
        parts: list[types.Part] = []
        for one in calls_named(log, ASK):
            if one.id in done:
                continue
            fields: Any = one.args
            call_id = fields["originalFunctionCall"]["id"]
            answer: dict[str, Any] = {"confirmed": True}
            edit = next(self._edits)
            shown = SHOWN.search(fields["toolConfirmation"]["hint"])
            amounts = self.approved.setdefault(call_id, set())
            if edit is not None:
                answer["args"] = {"amount": edit}
                amounts.add(edit)
            elif shown is not None:
                amounts.add(int(shown[1]))
            else:
                amounts.add(fields["originalFunctionCall"]["args"]["amount"])
                amounts.update(edit for edit in (self._last_edit(log, call_id),) if edit)
            given = types.FunctionResponse(id=one.id, name=ASK, response=answer)
            parts.append(types.Part(function_response=given))
        return types.UserContent(parts=parts) if parts else "Thanks."

    def _last_edit(self, log: list[Any], call_id: str) -> int | None:
        """The amount that the person wrote last, which the call has had since."""
        about = {
            one.id: (one.args or {})["originalFunctionCall"]["id"] for one in calls_named(log, ASK)
        }
        edits = [
            one.response["args"]["amount"]
            for event in log
            for one in event.get_function_responses()
            if about.get(one.id) == call_id and "args" in (one.response or {})
        ]
        return edits[-1] if edits else None


PASSES = st.lists(st.sampled_from([None, 2, 45, 70, 999]), min_size=1, max_size=4)


@pytest.mark.long
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    amounts=st.lists(st.sampled_from([1, 40, 60, 70, 101]), min_size=1, max_size=4),
    deaths=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=3),
    changes=PASSES,
    edits=PASSES,
    asks=st.booleans(),
)
async def test_what_callbacks_and_edits_change_runs_only_as_approved_and_within_limits(
    tmp_path_factory: pytest.TempPathFactory,
    amounts: list[int],
    deaths: list[tuple[int, bool]],
    changes: list[int | None],
    edits: list[int | None],
    asks: bool,
) -> None:
    till = Till(amounts, changes, edits, asks)
    scenario = Scenario(till.make_tree, "Go", *[till.answer] * 4)
    life = Life(scenario, tmp_path_factory.mktemp("life") / "s.db", resumable=False)
    policy = life.policy = POLICY.with_rules(SUM)
    for at, after in deaths:
        if await life.process(at, after):
            break
    else:
        while not await life.process():
            pass
    spent: dict[str, int] = {}
    for call_id, amount in till.paid:
        verdict = policy.decide(ToolRequest("pay", {"amount": amount}, "payer")).verdict
        assert verdict != "deny"
        assert verdict != "ask" or amount in till.approved.get(call_id, ())
        spent[call_id] = max(spent.get(call_id, 0), amount)
    assert len(spent) <= 2 and sum(spent.values()) <= MOST


@pytest.mark.parametrize("at", [2, 3, 4, 5, 6])
async def test_a_call_that_runs_again_after_a_crash_counts_once(tmp_path: Path, at: int) -> None:
    paid: list[int] = []
    life = make_life(tmp_path / "s.db", [1, 2], paid, False, None)
    done = await life.process(at, True)  # a count that is written again has no commit to die at
    while not done:
        done = await life.process()
    assert set(paid) == {1, 2}
    notes = [
        note
        for event in await life.log()
        if event.get_function_responses()
        for note in (event.custom_metadata or {}).get("policy", {}).values()
    ]
    assert [note["verdict"] for note in notes] == ["allow", "allow"]


async def test_a_rule_that_came_after_the_crash_denies_and_says_what_may_have_happened(
    tmp_path: Path,
) -> None:
    paid: list[int] = []
    life = make_life(tmp_path / "s.db", [1], paid, False, None)
    at, after = 5, False  # commits: message, call, count, begin, response
    assert not await life.process(at, after)  # the tool has run, and its response is not stored
    assert paid == [1]
    life.policy = Policy(default="deny")
    while not await life.process():
        pass
    answers = [one for event in await life.log() for one in event.get_function_responses()]
    assert paid == [1]
    assert "denies" in str(answers) and "unknown whether the call took effect" in str(answers)
