"""A turn costs the same at its start and after 200 turns: counted in function calls, which no
machine's speed touches, and with an untimed run that proves that the whole history is sent."""

from __future__ import annotations

import cProfile
import hashlib
import pstats
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.models import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService

MEASURED_TURNS = 8
MAX_CALLS = 2000
MAX_SPREAD = 1.05
FINAL = "The answer is 5."


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def content(role: str, **part: Any) -> types.Content:
    return types.Content(role=role, parts=[types.Part(**part)])


class QuickModel(BaseLlm):
    """Asks for one call of `add`, then answers; looks at the last part only."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.look(llm_request.contents)
        if llm_request.contents[-1].parts[-1].function_response is None:
            call = types.FunctionCall(id="call", name="add", args={"a": 2, "b": 3})
            yield LlmResponse(content=content("model", function_call=call))
        else:
            yield LlmResponse(content=content("model", text=FINAL))

    def look(self, contents: list[types.Content]) -> None:
        """What a subclass does with the request's contents."""


class ReadingModel(QuickModel):
    """Reads every content of every request: how many there are, and a hash over what they say."""

    seen: list[tuple[int, str]] = []

    def look(self, contents: list[types.Content]) -> None:
        digest = hashlib.sha256()
        for item in contents:
            for part in item.parts or []:
                digest.update(said(item.role, part).encode())
        self.seen.append((len(contents), digest.hexdigest()))


def said(role: str | None, part: types.Part) -> str:
    """One part as a line of text."""
    if part.function_call:
        return f"{role} calls {part.function_call.name} {part.function_call.args}\n"
    if part.function_response:
        return f"{role} gets {part.function_response.name} {part.function_response.response}\n"
    return f"{role}: {part.text}\n"


def question(turn: int) -> str:
    return f"What is 2 + 3? This is question {turn}."


def expected_requests(turns: int) -> list[tuple[int, str]]:
    """What ReadingModel must have seen: two requests per turn, each with all that came before."""
    digest, items = hashlib.sha256(), 0
    requests: list[tuple[int, str]] = []
    for turn in range(turns):
        lines = [
            f"user: {question(turn)}\n",
            "model calls add {'a': 2, 'b': 3}\n",
            "user gets add {'result': 5}\n",
            f"model: {FINAL}\n",
        ]
        for number, line in enumerate(lines):
            digest.update(line.encode())
            items += 1
            if number in (0, 2):
                requests.append((items, digest.hexdigest()))
    return requests


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


class Bench:
    """A runner over one service, and turns on its sessions."""

    def __init__(self, service: Any, model: QuickModel) -> None:
        agent = LlmAgent(name="bench", model=model, instruction="You add numbers.", tools=[add])
        self.service = service
        self.runner = Runner(agent=agent, app_name="bench", session_service=service)

    async def open(self, session: str) -> None:
        await self.service.create_session(app_name="bench", user_id="u", session_id=session)

    async def turn(self, session: str, number: int) -> None:
        last = None
        message = content("user", text=question(number))
        async for event in self.runner.run_async(
            user_id="u", session_id=session, new_message=message
        ):
            last = event
        assert last is not None and last.content.parts[0].text == FINAL

    async def calls_per_turn(self, sessions: list[str]) -> float:
        """Function calls of a turn, one turn on each of the sessions, which exist already.

        The least of them: threads that answer late only add rounds of the event loop.
        """
        counts: list[float] = []
        for number, session in enumerate(sessions):
            profile = cProfile.Profile()
            profile.enable()
            await self.turn(session, number)
            profile.disable()
            counts.append(pstats.Stats(profile).total_calls)
        return min(counts)


async def test_a_turn_costs_the_same_at_any_length(service: Any) -> None:
    bench = Bench(service, QuickModel(model="quick"))
    fresh = [f"fresh-{number}" for number in range(MEASURED_TURNS)]
    for session in ["warm", "long", *fresh]:
        await bench.open(session)
    for number in range(5):
        await bench.turn("warm", number)
    counts = {0: await bench.calls_per_turn(fresh)}
    turns = 0
    for history in (50, 200):
        for number in range(turns, history):
            await bench.turn("long", number)
        counts[history] = await bench.calls_per_turn(["long"] * MEASURED_TURNS)
        turns = history + MEASURED_TURNS
    shown = ", ".join(f"{n} turns: {c:.0f}" for n, c in counts.items())
    assert max(counts.values()) <= MAX_CALLS, f"function calls per turn: {shown}"
    assert max(counts.values()) <= min(counts.values()) * MAX_SPREAD, f"not flat: {shown}"


async def test_the_whole_history_is_sent(service: Any) -> None:
    model = ReadingModel(model="reading", seen=[])
    bench = Bench(service, model)
    await bench.open("long")
    for number in range(200):
        await bench.turn("long", number)
    assert model.seen == expected_requests(200)
