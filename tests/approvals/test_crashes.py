"""A process that dies at any commit while people answer: the next one acts on every answer."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.approvals.kit import NAMES
from tests.approvals.mixed_requests import (
    KINDS,
    PLACES,
    Bureau,
    answer,
    find_faults,
)
from tests.unit.durable.crash import DyingStore, Killed

# Each pair at the root; below it one whose answers go through another agent.
TREES = [
    (one, two, place)
    for one, two, place in product(KINDS, KINDS, PLACES)
    if one != two and (place == "root" or (one, two) in (("pay", "single"), ("task", "pay")))
]
WAYS = [("oldest", False, True), ("all", True, True), ("oldest", True, False)]


class Desk:
    """A session whose process may die, and the processes that continue it.

    Attributes:
      paid: the calls whose tool ran, over all processes.
    """

    def __init__(self, path: Path, kinds: list[str], place: str, resumable: bool) -> None:
        self.path, self.kinds, self.place, self.resumable = path, kinds, place, resumable
        self.paid: list[str] = []
        self.commits = 0

    async def live(self, order: str, confirmed: bool, at: int = 0, after: bool = False) -> bool:
        """Resume what is open and answer what waits in a new process; return whether it lived."""
        store = DyingStore(self.path, at, after)
        bureau = Bureau(store, self.kinds, self.place, resumable=self.resumable)
        bureau.paid = self.paid
        self.bureau = bureau
        try:
            await self._answer_all(bureau, store, order, confirmed)
        except Killed:
            return False
        except BaseExceptionGroup as group:
            if group.subgroup(Killed) is None:
                raise
            return False
        finally:
            self.commits = store.commits
            if not store.dead:
                await bureau.runner.close()
            store.dead = True
            await store.close()
            with closing(sqlite3.connect(self.path)) as db, db:
                db.execute("UPDATE ostinato_lease SET expires = 0")
        return True

    async def _answer_all(
        self, bureau: Bureau, store: DyingStore, order: str, confirmed: bool
    ) -> None:
        await bureau.runner.resume_open()
        if await store.get_session(**NAMES) is None:
            await bureau.say("Go.")
        for _ in range(9):
            waiting = await bureau.waiting()
            if not waiting:
                return
            some = waiting if order == "all" else [waiting[-1 if order == "newest" else 0]]
            await bureau.say(answer(some, confirmed))
        raise AssertionError("the agents ask without end")

    async def faults(self, confirmed: bool) -> list[str]:
        """Return what is wrong at the end; a call in doubt runs again if a person approves."""
        store = SqliteSessionService(self.path)
        try:
            session = await store.get_session(**NAMES)
        finally:
            await store.close()
        assert session is not None
        events = list(session.events)
        questions = Counter(
            (one.args or {})["originalFunctionCall"]["id"]
            for event in events
            for one in event.get_function_calls()
            if one.name == "adk_request_confirmation"
        )
        ran = Counter(self.paid)
        self.bureau.paid = [
            one for one in ran for _ in range(max(1, ran[one] - questions[one] + 1))
        ]
        return find_faults(self.bureau, events, sorted(questions), confirmed).splitlines()


@pytest.mark.long
@pytest.mark.parametrize(("order", "resumable", "confirmed"), WAYS)
@pytest.mark.parametrize(("one", "two", "place"), TREES)
async def test_every_answer_outlives_a_death_at_any_commit(
    tmp_path: Path, one: str, two: str, place: str, order: str, resumable: bool, confirmed: bool
) -> None:
    whole = Desk(tmp_path / "whole.db", [one, two], place, resumable)
    assert await whole.live(order, confirmed)
    faults: list[str] = []
    for at, after in product(range(1, whole.commits + 1), (False, True)):
        path = tmp_path / f"{at}-{after}.db"
        desk = Desk(path, [one, two], place, resumable)
        assert not await desk.live(order, confirmed, at, after)
        assert await desk.live(order, confirmed)
        found = await desk.faults(confirmed)
        faults += [f"death {'after' if after else 'before'} commit {at}: {one}" for one in found]
    assert not faults, "\n".join(faults)
