"""What a policy costs: nothing where there is none, and per call the rules of its tool alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

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
    assert costs[0] == costs[1] <= allowed(70)


def test_a_program_without_a_policy_does_not_even_load_one() -> None:
    run = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "['ostinato.tools.policy.notes']\n"
