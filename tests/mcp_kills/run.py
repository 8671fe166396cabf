"""Kills a process at all points of an MCP call, resumes its run, and counts the effects.

    python -m tests.mcp_kills.run                 100 kills
    python -m tests.mcp_kills.run --kills 500 --seed 7

The server's tool `pay` has no annotations, so it may take effect once. Each round forks a process
that runs an agent, and lets another process finish the run. The first one is killed by the server
before the effect, after it, or after the answer; or from outside after a random part of the time
that a whole run takes. A round is a fault if `pay` took effect twice, if the
run does not end, or if a call has no response.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import mcp  # noqa: F401 - loaded before the forks, which then start at once

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools.mcp_tool import McpToolset
from tests.support.mcp import raw_server

PLACE: dict[str, Any] = {"user_id": "ann", "session_id": "s"}
_ROUND_SECONDS = 60
_POINTS = ("before", "after", "answered", "at random")


def answer_request(request: LlmRequest) -> Any:
    """Call `pay` once in the conversation; then say its response."""
    for content in request.contents:
        for part in content.parts or ():
            if part.function_response is not None:
                return f"Told: {part.function_response.response}"
    return call("pay", amount=5)


async def run_agent(folder: Path, point: str) -> None:
    """Resume what is open in a folder's store, and send a message."""
    server = raw_server(f"effects={folder / 'effects'}", f"kill={point}")
    toolset = McpToolset(connection_params=server)
    agent = Agent(name="root", model=FunctionModel(answer_request), tools=[toolset])
    service = SqliteSessionService(str(folder / "sessions.db"))
    runner = Runner(app_name="shop", agent=agent, session_service=service)
    try:
        if await service.get_session(app_name="shop", **PLACE) is None:
            await service.create_session(app_name="shop", **PLACE)
        await runner.resume_open()
        message = types.Content(role="user", parts=[types.Part(text="Pay")])
        async for _ in runner.run_async(**PLACE, new_message=message):
            pass
    finally:
        await runner.close()


async def find_faults(folder: Path) -> list[str]:
    """Return what is wrong with the outcome of a round."""
    service = SqliteSessionService(str(folder / "sessions.db"))
    session = await service.get_session(app_name="shop", **PLACE)
    await service.close()
    assert session is not None
    asked = [c.id for event in session.events for c in event.get_function_calls()]
    answered = [r.id for event in session.events for r in event.get_function_responses()]
    faults: list[str] = []
    if count_effects(folder) > 1:
        faults.append(f"{count_effects(folder)} effects")
    if sorted(map(str, asked)) != sorted(map(str, answered)) or len(asked) != 1:
        faults.append(f"calls {asked}, responses {answered}")
    last = session.events[-1].content
    if last is None or not last.parts or not (last.parts[0].text or "").startswith("Told"):
        faults.append("the run did not end")
    return faults


def count_effects(folder: Path) -> int:
    """Return how often `pay` took effect."""
    file = folder / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


def fork_run(folder: Path, point: str = "never", kill_after: float | None = None) -> bool:
    """Run the agent in a process of its own; return whether it was killed.

    Args:
      folder: where its files lie.
      point: where in the call the server kills it.
      kill_after: seconds after which it is killed from outside, or None.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(_ROUND_SECONDS)
            asyncio.run(run_agent(folder, point))
            status = 0
        finally:
            os._exit(status)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"the run failed with status {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status)


def play_rounds(kills: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Play rounds until so many processes were killed; return outcomes and faults."""
    rng, outcomes, faults = random.Random(seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        whole.mkdir()
        begun = time.monotonic()
        fork_run(whole)
        length = time.monotonic() - begun
        number = 0
        while outcomes["killed"] < kills and number < 3 * kills + 10:
            number += 1
            folder = Path(place) / str(number)
            folder.mkdir()
            point = rng.choice(_POINTS)
            later = rng.uniform(0, length) if point == "at random" else None
            outcomes["killed" if fork_run(folder, point, later) else "ended"] += 1
            before = count_effects(folder)
            fork_run(folder)
            outcomes[f"{point}: {before} effects, then {count_effects(folder)}"] += 1
            faults += [f"round {number}: {one}" for one in asyncio.run(find_faults(folder))]
    return outcomes, faults


def main() -> int:
    """Play the rounds; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    outcomes, faults = play_rounds(args.kills, args.seed)
    for fault in faults[:20]:
        print(fault)
    print(f"{dict(outcomes)}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
