"""Requests whose session is deleted while they wait or run, and whose id may be used again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.durable.lease import keeper_of
from ostinato.errors import SessionNotFoundError
from ostinato.execution.session_watch import SessionWatch
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim, Place
from ostinato.testing import FunctionModel, call
from tests.approvals.kit import make_hold
from tests.unit.sessions.conftest import service as service
from tests.unit.sessions.conftest import store as store

PLACE: dict[str, Any] = {"user_id": "ann", "session_id": "one"}
NAMES: dict[str, Any] = {"app_name": "desk", **PLACE}


class Desk:
    """A runner whose first message holds the session until the gate opens."""

    def __init__(self, service: Any) -> None:
        hold, self.entered, self.gate = make_hold()

        def decide(request: Any) -> Any:
            part = request.contents[-1].parts[0]
            return call("hold") if part.text == "Hold." else "Done."

        self.service = service
        agent = LlmAgent(name="clerk", model=FunctionModel(decide), tools=[hold])
        self.runner = Runner(app=App(name="desk", root_agent=agent), session_service=service)

    async def begin(self) -> asyncio.Task[Any]:
        """Create the session and begin the run that holds it."""
        await self.service.create_session(**NAMES)
        run = asyncio.create_task(self.say("Hold."))
        await asyncio.wait_for(self.entered.wait(), 10)
        return run

    async def say(self, text: str, **options: Any) -> list[str]:
        run = self.runner.run_async(**PLACE, new_message=text, **options)
        return [event.author async for event in run]

    async def delete(self, *, again: bool) -> None:
        await self.service.delete_session(**NAMES)
        if again:
            await self.service.create_session(**NAMES)

    async def stored(self) -> list[Any]:
        session = await self.service.get_session(**NAMES)
        return [] if session is None else session.events


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once a request waits for its session."""
    event, begin_waiting = asyncio.Event(), SessionWatch.begin_waiting

    async def begin(self: SessionWatch) -> None:
        await begin_waiting(self)
        event.set()

    monkeypatch.setattr(SessionWatch, "begin_waiting", begin)
    return event


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("options", [{}, {"idempotency_key": "key"}])
async def test_a_message_that_waits_in_a_deleted_session_is_refused(
    store: Any, queued: asyncio.Event, again: bool, options: Any
) -> None:
    desk = Desk(store)
    run = await desk.begin()
    waiting = asyncio.create_task(desk.say("Please.", **options))
    await asyncio.wait_for(queued.wait(), 10)
    await desk.delete(again=again)
    desk.gate.set()
    with pytest.raises(SessionNotFoundError):
        await waiting
    with pytest.raises(SessionNotFoundError):
        await run
    assert await desk.stored() == []


@pytest.mark.parametrize("again", [False, True])
async def test_a_run_whose_session_is_deleted_ends_with_session_not_found(
    store: Any, again: bool
) -> None:
    desk = Desk(store)
    run = await desk.begin()
    await desk.delete(again=again)
    if store.shared:
        await keeper_of(store).renew()  # before the run writes again
    desk.gate.set()
    with pytest.raises(SessionNotFoundError):
        await run
    assert await desk.stored() == []


async def test_a_run_does_not_write_under_the_lease_of_the_next_session(store: Any) -> None:
    """A released lease of the new session has the number of the old one's."""
    desk = Desk(store)
    run = await desk.begin()
    await desk.delete(again=True)
    session = await store.open_session(**NAMES)
    place = Place("desk", "ann", "one")
    claim = Claim("other", "process", 60.0, "invocation", "digest")
    await store.release(place, await store.append(session, [], claim=claim))
    desk.gate.set()
    with pytest.raises(SessionNotFoundError):
        await run
    assert await desk.stored() == []


async def test_the_next_session_of_an_id_answers(store: Any) -> None:
    desk = Desk(store)
    run = await desk.begin()
    await desk.delete(again=True)
    desk.gate.set()
    with pytest.raises(SessionNotFoundError):
        await run
    assert await desk.say("Hello.") == ["clerk"]
    assert len(await desk.stored()) == 2


@pytest.mark.parametrize("again", [False, True])
async def test_a_run_ends_so_if_another_process_deletes_its_session(
    tmp_path: Path, queued: asyncio.Event, again: bool
) -> None:
    mine, theirs = SqliteSessionService(tmp_path / "s.db"), SqliteSessionService(tmp_path / "s.db")
    desk, other = Desk(mine), Desk(theirs)
    run = await desk.begin()
    waiting = asyncio.create_task(other.say("Please."))
    await asyncio.wait_for(queued.wait(), 10)
    await other.delete(again=again)
    await keeper_of(mine).renew()
    desk.gate.set()
    for task in (run, waiting):
        with pytest.raises(SessionNotFoundError):
            await task
    assert await desk.stored() == []
    await mine.close()
    await theirs.close()
