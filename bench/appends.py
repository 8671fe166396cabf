"""A stored turn beside the least it can cost: four raw fenced appends of the same bytes, in turn.

    python bench/appends.py sessions.db                                  SQLite, synchronous=FULL
    python bench/appends.py postgresql://postgres@127.0.0.1:5432/test    PostgreSQL

A raw fenced append is one transaction that checks and raises a session's version and inserts one
row. A round is four of them, with the bytes that a turn with one tool call stores, one such turn of
ours, and one in memory, which tells what a turn costs without a store; rounds alternate, so that a
slow disk slows all. What a turn leaves to be committed later, the release of its lease, is waited
for between the rounds. Prints medians and minima in ms, wall time.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.models import BaseLlm, LlmRequest, LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import (
    BaseSessionService,
    DatabaseSessionService,
    InMemorySessionService,
    SqliteSessionService,
)

TABLES = (
    "CREATE TABLE raw_session(id INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
    "CREATE TABLE raw_event(seq INTEGER PRIMARY KEY, data TEXT NOT NULL)",
    "INSERT INTO raw_session VALUES(1, 0)",
)
Append = Callable[[int, str], Awaitable[None]]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def raw_sqlite(folder: str) -> Append:
    """Raw appends to a SQLite file of their own, as durable as ours."""
    db = sqlite3.connect(os.path.join(folder, "raw.db"), isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    for statement in TABLES:
        db.execute(statement)

    async def append(version: int, data: str) -> None:
        db.execute("BEGIN IMMEDIATE")
        done = db.execute(
            "UPDATE raw_session SET version = version + 1 WHERE id = 1 AND version = ?", (version,)
        )
        assert done.rowcount == 1
        db.execute("INSERT INTO raw_event VALUES(?, ?)", (version, data))
        db.execute("COMMIT")

    return append


async def raw_postgres(url: str) -> Append:
    """Raw appends over one connection of asyncpg, prepared once."""
    import asyncpg

    db = await asyncpg.connect(url)
    await db.execute("DROP TABLE IF EXISTS raw_session, raw_event")
    for statement in TABLES:
        await db.execute(statement)
    bump = await db.prepare(
        "UPDATE raw_session SET version = version + 1 WHERE id = 1 AND version = $1 RETURNING 1"
    )
    insert = await db.prepare("INSERT INTO raw_event VALUES($1, $2)")

    async def append(version: int, data: str) -> None:
        async with db.transaction():
            assert await bump.fetchval(version) == 1
            await insert.fetch(version, data)

    return append


class Quick(BaseLlm):
    """A model that answers at once: a call where the user spoke last, else the final text."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [])[0]
        if last.function_response is None:
            part = types.Part(function_call=types.FunctionCall(name="add", args={"a": 2, "b": 3}))
        else:
            part = types.Part(text="The sum is 5.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Turns:
    """Turns with one tool call over a service."""

    def __init__(self, service: BaseSessionService) -> None:
        agent = LlmAgent(name="bench", model=Quick(model="quick"), tools=[add])
        self.service = service
        self.runner = Runner(
            agent=agent, app_name="bench", session_service=service, auto_create_session=True
        )

    async def turn(self, session: str) -> None:
        async for _ in self.runner.run_async(
            user_id="u", session_id=session, new_message="What is 2 + 3?"
        ):
            pass

    async def sizes(self, session: str) -> list[int]:
        found = await self.service.get_session(app_name="bench", user_id="u", session_id=session)
        assert found is not None
        return [
            len(event.model_dump_json(by_alias=True, exclude_none=True)) for event in found.events
        ]


async def measure(where: str, rounds: int, as_json: bool) -> None:
    """Print the medians of so many rounds."""
    is_url = "://" in where
    with tempfile.TemporaryDirectory(
        dir=os.path.dirname(os.path.abspath(where)) if not is_url else None
    ) as folder:
        if is_url:
            append = await raw_postgres(where)
            service: BaseSessionService = DatabaseSessionService(
                where.replace("postgresql://", "postgresql+asyncpg://")
            )
        else:
            append = raw_sqlite(folder)
            service = SqliteSessionService(os.path.join(folder, "ours.db"))
        turns, in_memory = Turns(service), Turns(InMemorySessionService())
        session = f"bench-{os.getpid()}"
        for _ in range(20):
            await turns.turn(session)
            await in_memory.turn(session)
        data = ["x" * size for size in (await turns.sizes(session))[:4]]
        raw, ours, memory = [], [], []
        for number in range(rounds):
            start = time.perf_counter()
            for index, text in enumerate(data):
                await append(number * 4 + index, text)
            raw.append(time.perf_counter() - start)
            start = time.perf_counter()
            await turns.turn(session)
            ours.append(time.perf_counter() - start)
            await service.flush()
            start = time.perf_counter()
            await in_memory.turn(session)
            memory.append(time.perf_counter() - start)
        await turns.runner.close()
        await service.close()  # type: ignore[attr-defined]
    if as_json:
        figures = {"raw_ms": raw, "turn_ms": ours, "memory_ms": memory}
        print(json.dumps({k: statistics.median(v) * 1000 for k, v in figures.items()}))
        return
    print(f"{len(data)} events of {sum(map(len, data))} bytes, {rounds} rounds")
    for name, of in (("median", statistics.median), ("least", min)):
        four, turn, without = (of(times) * 1000 for times in (raw, ours, memory))
        print(
            f"{name}: four raw appends {four:.2f} ms, a turn {turn:.2f} ms: {turn / four:.2f} "
            f"times, {turn - four:.2f} ms more; a turn in memory {without:.2f} ms"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("where")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print the medians as JSON")
    asked = parser.parse_args()
    asyncio.run(measure(asked.where, asked.rounds, asked.json))
