"""Replays of simulations on other Pythons: a failure's seed does the same on each.

`python -m tests.install.replays [SEED]` prints what a simulation with a planted fault finds, and
the digests of sound ones, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostinato.agents import LlmAgent
from ostinato.testing import simulate
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from tests.support.planted_faults import plant

ROOT = Path(__file__).resolve().parents[2]
_FAULT = "a response is stored twice"
_SOUND_SEEDS = (5, 6, 7)


async def act(what: str, tool_context: ToolContext) -> str:
    """Do something."""
    assert tool_context.idempotency_key
    tool_context.state["last"] = what
    return "ok"


async def order(what: str, tool_context: ToolContext) -> str:
    """Order something."""
    assert tool_context.idempotency_key
    return "ordered"


def pay(what: str, tool_context: ToolContext) -> str:
    """Pay."""
    assert tool_context.idempotency_key
    return "paid"


def make_agent() -> LlmAgent:
    """Make the agent of the simulations."""
    tools = [act, LongRunningFunctionTool(order), FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name="root", description="root", tools=tools)


def find_failure(seed: str | int) -> dict[str, Any]:
    """Simulate with the planted fault; return its failure, with the digests of sound runs.

    Args:
      seed: 0 to search, or a failure's seed to replay.
    """
    sound = [simulate(make_agent, seed=each, actions=20).digest for each in _SOUND_SEEDS]
    with plant(_FAULT):
        report = simulate(make_agent, runs=40, actions=20, seed=seed, shrink=not seed)
    failure = report.failures[0]
    found = {"seed": failure.seed, "violation": failure.violation, "trace": [*failure.trace]}
    return {"sound": sound, **found}


def compare_replays(pythons: Sequence[str]) -> list[str]:
    """Return the Pythons on which the seed of a failure of this one does something else."""
    here = find_failure(0)
    differing: list[str] = []
    for python in pythons:
        command = [python, "-m", "tests.install.replays", here["seed"]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode or json.loads(done.stdout) != json.loads(json.dumps(here)):
            differing.append(f"{python}: {done.stdout[:300]}{done.stderr[-2000:]}")
    return differing


if __name__ == "__main__":
    print(json.dumps(find_failure(sys.argv[1] if sys.argv[1:] else 0)))
