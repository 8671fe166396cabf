"""Whatever a process dies of: what the rules deny never runs, and limits count a call once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato import types
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool
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
