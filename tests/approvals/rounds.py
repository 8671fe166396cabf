"""Rounds of decisions at once: two servers on one store, and clients that all press approve.

Used by `run.py` and by the tests; the servers are real processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

AGENT = '''
import os, pathlib
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool

LEDGER = pathlib.Path(__file__).parents[2] / "ledger.txt"


def pay(order: str) -> dict:
    """Pay for an order."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{order}\\n")
    return {"paid": order}


class PayLlm(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        part = llm_request.contents[-1].parts[-1]
        if part.text:
            call = {"functionCall": {"name": "pay", "args": {"order": part.text}}}
            yield LlmResponse(content={"role": "model", "parts": [call]})
        else:
            yield LlmResponse(content={"role": "model", "parts": [{"text": "done"}]})


root_agent = Agent(
    name="root", model=PayLlm(model="pay"), tools=[FunctionTool(pay, require_confirmation=True)]
)
'''
_SESSIONS = "/apps/payer/users/ann/sessions"
_LIMIT = 120.0  # seconds


@dataclass
class Outcome:
    """What came of the rounds.

    Attributes:
      statuses: how many answers had each status.
      faults: what is wrong, in words; empty if nothing is.
    """

    statuses: Counter[int] = field(default_factory=Counter[int])
    faults: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def serving(folder: Path, db: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the agent by a process of its own."""
    agent = folder / "agents" / "payer"
    agent.mkdir(parents=True, exist_ok=True)
    agent.joinpath("agent.py").write_text(AGENT)
    with folder.joinpath("log.txt").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ostinato", "serve", "agents", "--port", "0", "--db", db),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        found = re.search(r"http://\S+", line)
        assert found is not None, folder.joinpath("log.txt").read_text()
        async with httpx2.AsyncClient(base_url=found[0], timeout=_LIMIT) as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), _LIMIT)


async def play(folder: Path, db: str, rounds: int, clients: int = 10, at_once: int = 4) -> Outcome:
    """Play rounds: in each, a session asks once, and all clients approve at the same time.

    Args:
      folder: where agent, ledger and log are.
      db: the store, as `ostinato serve --db` takes it.
      rounds: how many.
      clients: how many answers each round gets.
      at_once: how many rounds are played side by side.
    """
    outcome = Outcome()
    gate = asyncio.Semaphore(at_once)
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serving(folder, db)) for _ in range(2)]

        async def one(number: int) -> None:
            async with gate:
                await _play_round(servers, f"order-{number}", clients, outcome)

        await asyncio.gather(*(one(number) for number in range(rounds)))
    # The servers have ended all that they had begun.
    paid = Counter(folder.joinpath("ledger.txt").read_text().split())
    for number in range(rounds):
        if paid[f"order-{number}"] != 1:
            outcome.faults.append(f"order-{number} was paid {paid[f'order-{number}']} times")
    return outcome


async def _play_round(
    servers: list[httpx2.AsyncClient], order: str, clients: int, outcome: Outcome
) -> None:
    await servers[0].post(_SESSIONS, json={"sessionId": order})
    message = {"role": "user", "parts": [{"text": order}]}
    body = {"appName": "payer", "userId": "ann", "sessionId": order, "newMessage": message}
    events = (await servers[0].post("/run", json=body)).json()
    path = f"{_SESSIONS}/{order}/approvals/{_request_in(events)}"
    answers = await asyncio.gather(
        *(
            servers[number % len(servers)].post(path, json={"action": "approve"})
            for number in range(clients)
        )
    )
    statuses = Counter(answer.status_code for answer in answers)
    outcome.statuses += statuses
    if statuses != {202: 1, 409: clients - 1}:
        outcome.faults.append(f"{order} was answered with {dict(statuses)}")
    for answer in answers:
        told: Any = answer.json().get("error", {})
        if answer.status_code == 409 and (
            told.get("type") != "CallAlreadyAnsweredError"
            or told.get("answer") != {"confirmed": True}
        ):
            outcome.faults.append(f"{order} was refused with {answer.text}")


def _request_in(events: list[Any]) -> str:
    for event in events:
        for part in (event.get("content") or {}).get("parts", ()):
            call = part.get("functionCall") or {}
            if call.get("name") == "adk_request_confirmation":
                return call["id"]
    raise AssertionError(f"nothing was asked: {events}")
