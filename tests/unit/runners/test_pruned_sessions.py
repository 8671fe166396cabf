"""Sessions whose old events were deleted by SQL, for retention or erasure, while a program runs."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import RequestWithdrawnError
from ostinato.events import Event
from ostinato.events.pending import pending_calls
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import FunctionTool
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.flows.kit import SESSION, USER, Talk
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


async def test_what_a_rewind_took_back_stays_so_without_the_invocation_it_names(
    database: Database,
) -> None:
    paid: list[str] = []

    def pay(what: str) -> str:
        """Pay."""
        paid.append(what)
        return "paid"

    def talk(owner: Owner, model: ScriptedModel) -> Talk:
        tools: list[Any] = [FunctionTool(pay, require_confirmation=True)]
        return Talk(LlmAgent(name="root", model=model, tools=tools), owner.store)

    before = talk(database.one, ScriptedModel(["to a", call("pay", what="bread")]))
    first = (await before.say("a"))[0].invocation_id
    await before.say("b")
    (asked,) = pending_calls(await before.stored())
    await before.runner.rewind_async(
        user_id=USER, session_id=SESSION, rewind_before_invocation_id=first
    )
    database.delete_events({"a", "to a"})
    model = ScriptedModel(["to c"])
    after = talk(database.two, model)
    assert not pending_calls(await after.stored())
    with pytest.raises(RequestWithdrawnError):
        await after.answer(asked.call, {"confirmed": True})
    assert final_text(await after.say("c")) == "to c"
    assert [one.texts for one in model.requests] == [["c"]]
    assert not paid
