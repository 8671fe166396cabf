"""A process that dies at a chosen commit: the store raises, and nothing is written afterwards."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ostinato import types
from ostinato.apps import App, ResumabilityConfig
from ostinato.context.node import BaseNode
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions.log.resume import RERUN
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import trace

_ID = re.compile(r"adk-[0-9a-f]{8}-[0-9a-f-]{27}")
PLACE: dict[str, Any] = {"app_name": "talk", "user_id": "ann", "session_id": "one"}
WHO: dict[str, Any] = {"user_id": "ann", "session_id": "one"}


class Killed(BaseException):
    """The process was killed here; nothing catches it."""


class DyingStore(SqliteSessionService):
    """A store whose process dies at commit `at`, before it or right after it."""

    def __init__(self, path: Path, at: int = 0, after: bool = False, **options: Any) -> None:
        super().__init__(path, synchronous="NORMAL", **options)
        self.at, self.after = at, after
        self.commits = 0
        self.dead = False
        self._finished = 0
        self._news = asyncio.Condition()

    async def done(self, commits: int) -> None:
        """Wait until so many commits are done."""
        async with self._news:
            await self._news.wait_for(lambda: self._finished >= commits)

    def _check(self) -> None:
        if self.dead:
            raise Killed

    async def append(self, session: Any, events: Any, *rest: Any, **named: Any) -> Any:
        self._check()
        self.commits += 1
        number = self.commits
        if number == self.at and not self.after:
            self.dead = True
            raise Killed
        done = await super().append(session, events, *rest, **named)
        async with self._news:
            self._finished += 1
            self._news.notify_all()
        if number == self.at:
            self.dead = True
            raise Killed
        return done

    async def create_session(self, **place: Any) -> Any:
        self._check()
        return await super().create_session(**place)

    async def delete_session(self, **place: Any) -> None:
        self._check()
        await super().delete_session(**place)

    async def release(self, *place: Any, **options: Any) -> None:
        if not self.dead:
            await super().release(*place, **options)


class World:
    """What lies outside of the process: the effects of its tools, counted by idempotency key."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.asked = 0

    def effect(self, tool_context: Any, name: str) -> None:
        key = tool_context.idempotency_key
        self.effects[key] += 1
        self.names[key] = name


Leg = Callable[[list[Event]], Any]
"""Makes the next message out of what was said so far."""


class Scenario:
    """An agent tree and a conversation with it.

    Args:
      tree: makes the tree, anew in each process.
      legs: the messages, or what makes them of the log.
    """

    def __init__(self, tree: Callable[[World], BaseNode], *legs: Any) -> None:
        self.tree = tree
        self.legs: Sequence[Any] = legs or ("Go",)


class Life:
    """A session's life over several processes, each of which may die.

    Attributes:
      policy: rules about the tool calls, or None.
    """

    policy: Any = None

    def __init__(self, scenario: Scenario, path: Path, resumable: bool) -> None:
        self.scenario, self.path, self.resumable = scenario, path, resumable
        self.world = World()
        self.leg = 0
        self.commits = 0
        self.store: DyingStore

    async def process(self, at: int = 0, after: bool = False) -> bool:
        """Live for one process; tell whether it came to the end of the conversation."""
        store = self.store = DyingStore(self.path, at, after)
        config = ResumabilityConfig(is_resumable=True) if self.resumable else None
        app = App(
            name="talk",
            root_agent=self.scenario.tree(self.world),
            resumability_config=config,
            policy=self.policy,
        )
        runner = Runner(app=app, session_service=store, auto_create_session=True)
        try:
            await self._live(runner, store)
        except Killed:
            return False
        except BaseExceptionGroup as group:
            if group.subgroup(Killed) is None:
                raise
            return False
        finally:
            self.commits = store.commits
            if not store.dead:
                await runner.close()
            store.dead = True
            await store.close()
            with closing(sqlite3.connect(self.path)) as db, db:
                db.execute("UPDATE ostinato_lease SET expires = 0")
        return True

    async def _live(self, runner: Runner, store: DyingStore) -> None:
        while self.leg < len(self.scenario.legs):
            log = await self._log(store)
            messages = [e for e in log if e.author == "user" and not e.node_info.path]
            if len(messages) > self.leg:  # it had got there, and then the process died
                run = runner.run_async(**WHO, invocation_id=messages[-1].invocation_id)
            else:
                message: Any = self.scenario.legs[self.leg]
                message = message(log) if isinstance(message, Callable) else message
                run = runner.run_async(**WHO, new_message=message)
            async for _ in run:
                pass
            self.leg += 1

    async def _log(self, store: SqliteSessionService) -> list[Event]:
        session = await store.get_session(**PLACE)
        return list(session.events) if session is not None else []

    async def log(self) -> list[Event]:
        store = SqliteSessionService(self.path)
        try:
            return await self._log(store)
        finally:
            await store.close()

    def rows(self, what: str = "*") -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as db, db:
            return db.execute(f"SELECT {what} FROM ostinato_journal").fetchall()


def lines_by_branch(log: list[Event]) -> dict[str, list[str]]:
    """The trace of each branch; what runs side by side may come in any order."""
    found: dict[str, list[str]] = {}
    for event in log:
        lines = trace([event]) or [f"{event.author}: -"]
        if event.content is None and RERUN in (event.custom_metadata or {}):
            continue  # it says nothing but that a tool may have run twice
        branch = _ID.sub("adk-id", event.branch or "")
        found.setdefault(branch, []).extend(_ID.sub("adk-id", line) for line in lines)
    return found


def flagged(log: list[Event]) -> set[str]:
    return {call for event in log for call in (event.custom_metadata or {}).get(RERUN, ())}


def calls_named(log: list[Event], name: str) -> list[types.FunctionCall]:
    return [c for e in log for c in e.get_function_calls() if c.name == name]


def unanswered(log: list[Event]) -> list[str]:
    """The calls without a later response."""
    answered = [{r.id for r in e.get_function_responses()} for e in log]
    return [
        call.name or ""
        for index, event in enumerate(log)
        for call in event.get_function_calls()
        if not any(call.id in ids for ids in answered[index + 1 :])
    ]
