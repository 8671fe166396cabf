"""Sessions whose old events were deleted by SQL, for retention or erasure, while a program runs."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ostinato.events import Event
from ostinato.testing import final_text
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.runners.owners import Owner

_STORES = ["sqlite", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]


class Database:
    """A database with two owners of its sessions.

    Args:
      place: its file or its URL.
    """

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self.one, self.two = Owner(place), Owner(place)

    def delete_events(self, said: set[str]) -> None:
        """Delete the events that say this, as an operator does."""
        marks = " OR ".join(
            f"{'data' if isinstance(self._place, Path) else self._text} LIKE '%\"{word}\"%'"
            for word in said
        )
        if isinstance(self._place, Path):
            with contextlib.closing(sqlite3.connect(self._place)) as db, db:
                db.execute(f"DELETE FROM events WHERE {marks}")
        else:
            execute(self._place, f"DELETE FROM events WHERE {marks}")

    @property
    def _text(self) -> str:
        return "CAST(event_data AS CHAR(10000))"


@pytest.fixture(params=_STORES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A database of each kind that processes share."""
    with contextlib.ExitStack() as stack:
        place: Path | str = tmp_path / "shared.db"
        if request.param != "sqlite":
            place = stack.enter_context(new_database(request.param))
        made = Database(place)
        yield made
        for owner in (made.one, made.two):
            await owner.store.close()


def words(log: list[Event]) -> list[str]:
    return [event.content.parts[0].text for event in log]  # type: ignore[union-attr,index,misc]


async def talked(owner: Owner, *messages: str) -> None:
    talk = owner.talk([f"to {message}" for message in messages])
    async with asyncio.timeout(60):
        for message in messages:
            assert final_text(await talk.say(message)) == f"to {message}"


async def test_a_process_that_reads_a_pruned_session_anew_goes_on(database: Database) -> None:
    await talked(database.one, "a", "b", "c")
    database.delete_events({"a", "to a", "b"})
    await talked(database.two, "d", "e")
    assert words(await database.two.last.stored()) == [
        "to b",
        "c",
        "to c",
        "d",
        "to d",
        "e",
        "to e",
    ]


async def test_a_process_that_remembers_a_pruned_session_goes_on(database: Database) -> None:
    await talked(database.one, "a", "b", "c")
    database.delete_events({"a", "to a", "b"})
    await talked(database.one, "d", "e")
    await talked(database.two, "f")
    await talked(database.one, "g")


async def test_events_of_others_may_be_pruned_before_they_were_seen(database: Database) -> None:
    await talked(database.one, "a", "b")
    await talked(database.two, "c", "d", "e")
    database.delete_events({"c", "to c", "d"})
    await talked(database.one, "f", "g")
    said = [*"ab", *"ef"]
    log = words(await database.one.last.stored())
    assert [each for each in log if each in said] == said
    assert log.count("b") == log.count("e") == 1


async def test_a_session_without_any_event_left_goes_on(database: Database) -> None:
    await talked(database.one, "a")
    database.delete_events({"a", "to a"})
    await talked(database.two, "b")
    await talked(database.one, "c")
    assert words(await database.two.last.stored()) == ["b", "to b", "c", "to c"]
