"""What a policy costs: nothing where there is none, and per call the rules of its tool alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ostinato.tools.policy import Policy, Rule, ToolRequest
from tests.perf.kit import allowed, calls

PROGRAM = """
import asyncio, sys
from ostinato import Agent
from ostinato.testing import Conversation, ScriptedModel, call

def add(a: int, b: int) -> int:
    return a + b

model = ScriptedModel([call("add", a=2, b=3), "5"])
asyncio.run(Conversation(Agent(name="sum", model=model, tools=[add])).say("Add"))
print(sorted(name for name in sys.modules if name.startswith("ostinato.tools.policy.")))
"""


def make_policy(others: int) -> Policy:
    fields: list[dict[str, Any]] = [
        {"id": "mine", "verdict": "ask", "tool": "pay", "args": {"/amount": {"gt": 5}}},
        {"id": "evil", "verdict": "deny", "args": {"/to": {"like": "*.evil.test"}}},
    ]
    fields += [{"id": f"r{n}", "verdict": "deny", "tool": f"tool_{n}"} for n in range(others)]
    return Policy(rules=tuple(Rule.model_validate(one) for one in fields))


async def test_a_decision_costs_the_same_with_200_rules_of_other_tools() -> None:
    costs: list[int] = []
    for policy in (make_policy(0), make_policy(200)):
        request = ToolRequest("pay", {"amount": 6, "to": "ann"}, "clerk", user="ann")
        assert policy.decide(request).verdict == "ask"

        async def decide(policy: Policy = policy, request: ToolRequest = request) -> None:
            policy.decide(request)

        costs.append(await calls(decide, of_loop=False))
    assert costs[0] == costs[1] <= allowed(55)


@pytest.mark.parametrize("amount", [250, "250.5", "much", True, None, [250]])
async def test_a_decision_looks_at_200_rules_of_a_tool_at_once(amount: Any) -> None:
    costs: list[int] = []
    for count in (20, 200):
        fields: list[dict[str, Any]] = [
            {
                "id": f"r{n}",
                "verdict": ("deny", "ask", "allow")[n % 3],
                "args": {
                    "/amount": {"gt": 100 + n / count, "not_equals": n},
                    "/customer": {"in": [f"c{n}", n]},
                    "/to": {"like": f"*@{n}.test"},
                },
            }
            for n in range(count)
        ]
        policy = Policy(rules=[Rule.model_validate(one) for one in fields])
        request = ToolRequest("pay", {"amount": amount, "customer": "c7", "to": "ann@7.test"})
        policy.decide(request)

        async def decide(policy: Policy = policy, request: ToolRequest = request) -> None:
            policy.decide(request)

        costs.append(await calls(decide, of_loop=False))
    assert costs[0] == costs[1] <= allowed(75)


async def test_a_pattern_costs_one_call_for_each_rule_that_nothing_else_rules_out() -> None:
    rules = [
        Rule(id=f"r{n}", verdict="deny", args={"/to": {"like": f"*@{n}.test"}}) for n in range(200)
    ]
    policy = Policy(rules=rules)
    request = ToolRequest("send", {"to": "ann@7.test"})
    assert policy.decide(request).verdict == "deny"

    async def decide() -> None:
        policy.decide(request)

    assert await calls(decide, of_loop=False) <= allowed(230)


@pytest.mark.long
def test_a_program_without_a_policy_does_not_even_load_one() -> None:
    run = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "['ostinato.tools.policy.notes']\n"
