"""DatabaseSessionService beside the contract: tails, several loops and services, many at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from ostinato.errors import AlreadyExistsError
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session, log_of, revision_of
from ostinato.sessions.store.durable_store import JournalRow, Place
from ostinato.types import Content, Part
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.sessions.talk import OWNER, PLACE, claim, said, texts

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
SERVICES = [pytest.param(name, marks=pytest.mark.service) for name in SERVERS]


@pytest.fixture(params=["file", *SERVICES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new, empty database that several services can reach."""
    if request.param == "file":
        yield f"sqlite+aiosqlite:///{tmp_path / 's.db'}"
        return
    with new_database(request.param) as made:
        yield made


@pytest.fixture
async def service(url: str) -> AsyncIterator[DatabaseSessionService]:
    made = DatabaseSessionService(url)
    yield made
    await made.close()


async def opened(service: DatabaseSessionService, **how: Any) -> Session:
    session = await service.open_session(**KEY, **how)
    assert session is not None
    return session


def summary(end: float) -> Event:
    words = Content(role="model", parts=[Part(text="the story so far")])
    compaction = EventCompaction(start_timestamp=1, end_timestamp=end, compacted_content=words)
    actions = EventActions(compaction=compaction)
    return Event(author="user", timestamp=end + 100, invocation_id="compaction", actions=actions)


async def compacted(service: DatabaseSessionService) -> Session:
    """Make a session of 101 events, of which most are in a summary."""
    session = await service.create_session(**KEY, state={"k": 1})
    events = [
        said(f"m{n}", id=f"id{n}", invocation_id=f"inv{n // 2}", timestamp=float(n))
        for n in range(1, 101)
    ]
    await service.append(session, events)
    await service.append_event(session, summary(90.0))
    return session


async def test_a_compacted_session_opens_at_its_tail(
    service: DatabaseSessionService, url: str
) -> None:
    await compacted(service)
    other = DatabaseSessionService(url)
    part = await opened(other, complete=False)
    again = await opened(other, complete=False)
    assert log_of(part) is log_of(again)
    assert (revision_of(part), part.state) == (101, {"k": 1})
    assert [r.id for r in log_of(part).records[:2]] == ["id91", "id92"] or log_of(part).offset > 80
    await other.append_event(part, said("new", timestamp=300.0))
    assert len(log_of(again)) + log_of(again).offset == 102
    limited = await other.get_session(**KEY, config=GetSessionConfig(num_recent_events=30))
    assert limited is not None and len(limited.events) == 30
    whole = await other.get_session(**KEY)
    assert whole is not None and len(whole.events) == 102 and log_of(whole).offset == 0
    await other.append_event(whole, said("newer", timestamp=301.0))
    assert log_of(await opened(other, complete=False)) is log_of(whole)
    await other.close()


async def test_summaries_before_the_tail_are_loaded_with_it(
    service: DatabaseSessionService, url: str
) -> None:
    session = await compacted(service)
    more = [said(f"n{n}", invocation_id=f"more{n}", timestamp=float(n)) for n in range(200, 220)]
    await service.append(session, more)
    await service.append_event(session, summary(210.0))
    other = DatabaseSessionService(url)
    part = await opened(other, complete=False)
    records = log_of(part).records
    assert log_of(part).offset + len(records) == 122
    assert len(records) < 20
    assert [r.timestamp for r in records if r.invocation_id == "compaction"] == [310.0]
    await other.close()


async def test_a_rewind_makes_a_partial_log_whole(
    service: DatabaseSessionService, url: str
) -> None:
    session = await compacted(service)
    other = DatabaseSessionService(url)
    assert log_of(await opened(other, complete=False)).offset > 0
    actions = EventActions(rewind_before_invocation_id="inv10")
    await service.append_event(session, Event(author="user", invocation_id="r", actions=actions))
    again = await opened(other, complete=False)
    assert log_of(again).offset == 0 and len(log_of(again)) == 102
    await other.close()


async def test_two_services_see_each_others_events(
    service: DatabaseSessionService, url: str
) -> None:
    other = DatabaseSessionService(url)
    mine = await service.create_session(**KEY)
    for number in range(3):
        theirs = await opened(other)
        await other.append_event(theirs, said(f"theirs {number}", {"user:n": number}))
        mine = await opened(service)
        assert mine.state["user:n"] == number
        await service.append_event(mine, said(f"mine {number}", {"app:n": number}))
    expected = [f"{who} {n}" for n in range(3) for who in ("theirs", "mine")]
    for seen in (await opened(service), await opened(other)):
        assert texts(seen) == expected
        assert seen.state == {"user:n": 2, "app:n": 2}
    await other.delete_session(**KEY)
    assert await service.get_session(**KEY) is None
    await other.create_session(**KEY)
    assert texts(await opened(service)) == []
    await other.close()


@pytest.mark.long
async def test_fifty_appends_to_one_session_at_once(
    service: DatabaseSessionService, url: str
) -> None:
    others = [DatabaseSessionService(url) for _ in range(3)]
    session = await service.create_session(**KEY)
    copies = [(service, session)]
    copies += [(each, await opened(each)) for each in others]
    await asyncio.gather(
        *(
            copies[n % 4][0].append_event(
                copies[n % 4][1], said(f"m{n}", {f"k{n}": n, "user:u": n})
            )
            for n in range(50)
        )
    )
    found = await opened(service)
    assert sorted(texts(found), key=lambda one: int((one or "")[1:])) == [
        f"m{n}" for n in range(50)
    ]
    for place in range(4):  # each service's own come in its order
        mine = [f"m{n}" for n in range(50) if n % 4 == place]
        assert [one for one in texts(found) if one in mine] == mine
    assert {k: v for k, v in found.state.items() if k != "user:u"} == {
        f"k{n}": n for n in range(50)
    }
    for each in others:
        assert texts(await opened(each)) == texts(found)
        await each.close()


@pytest.mark.parametrize("url", SERVICES, indirect=True)
async def test_a_thousand_sessions_at_once(service: DatabaseSessionService) -> None:
    async def talk(number: int) -> None:
        session = await service.create_session(
            app_name="app", user_id=f"u{number % 10}", session_id=f"s{number}", state={"n": number}
        )
        fence = await service.append(
            session, [said("hello")], claim=claim(invocation=f"e-{number}")
        )
        assert fence is not None
        await service.append(
            session, [said("bye", {"m": number, "user:last": 1, "app:last": 1})], fence=fence
        )
        await service.release(Place("app", f"u{number % 10}", f"s{number}"), fence)

    await asyncio.gather(*(talk(number) for number in range(1000)))
    listed = (await service.list_sessions(app_name="app")).sessions
    assert len(listed) == 1000
    assert all(s.state["n"] == s.state["m"] == int(s.id[1:]) for s in listed)
    assert {revision_of(s) for s in listed} == {2}
    assert await service.open_leases() == []


async def test_the_same_session_created_many_times_at_once(
    service: DatabaseSessionService,
) -> None:
    outcomes = await asyncio.gather(
        *(service.create_session(**KEY, state={"user:u": n}) for n in range(10)),
        return_exceptions=True,
    )
    made = [one for one in outcomes if isinstance(one, Session)]
    assert len(made) == 1
    assert all(isinstance(one, (Session, AlreadyExistsError)) for one in outcomes)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What is sent to databases from now on, without what begins a transaction."""
    sent: list[str] = []

    def note(*arguments: Any) -> None:
        if not arguments[2].startswith(("BEGIN", "PRAGMA")):
            sent.append(" ".join(arguments[2].split()[:3]))

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


async def test_what_a_turn_costs_in_statements(url: str, statements: list[str]) -> None:
    if url.startswith("postgresql"):  # where a turn has statements of its own: without those
        url += "?prepared_statement_cache_size=100"
    service = DatabaseSessionService(url)
    session = await service.create_session(**KEY, state={"k": 1})
    statements.clear()
    fence = await service.append(session, [said("hello", {"k": 2})], claim=claim())
    # PostgreSQL reads what a statement waited for as it was before; it locks the row first.
    lock = ["SELECT 1 FROM"] if url.startswith("postgresql") else []
    append = [
        *lock,
        "SELECT s.update_time, CASE",
        "INSERT INTO events",
        "UPDATE sessions SET",
        "UPDATE ostinato_sessions SET",
    ]
    assert statements == append
    statements.clear()
    rows = [JournalRow("e-1", f"c{n}", "started", "pay") for n in range(3)]
    await service.append(session, [said("a"), said("b")], rows, fence=fence)
    assert statements == [*append, "INSERT INTO ostinato_journal"]
    statements.clear()
    assert len((await opened(service)).events) == 3
    assert statements == ["SELECT s.update_time, o.sid,"]  # nothing new: the cache has the rest
    await service.close()


def in_thread(work: Any) -> Any:
    """Await `work()` in a thread with an event loop of its own."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(asyncio.run(work())))
    thread.start()
    return thread, answers


async def test_several_event_loops_use_one_service(service: DatabaseSessionService) -> None:
    session = await service.create_session(**KEY)
    fence = await service.append(session, [said("a")], claim=claim())
    assert fence is not None

    async def elsewhere() -> Any:
        renewed = await service.renew([(PLACE, fence)], 60.0)
        found = await service.get_session(**KEY)
        assert found is not None
        await service.append_event(found, said("from elsewhere"))
        return renewed

    for _ in range(3):
        thread, answers = in_thread(elsewhere)
        await service.append(session, [said("here")], fence=fence)
        await asyncio.to_thread(thread.join)
        assert [one.lost for one in answers[0]] == [False]
    assert sorted(texts(await opened(service)), key=str) == [
        "a",
        *["from elsewhere"] * 3,
        *["here"] * 3,
    ]


def test_one_service_in_several_runs(url: str) -> None:
    service = DatabaseSessionService(url)

    async def turn(number: int) -> None:
        session = await service.get_session(**KEY) or await service.create_session(**KEY)
        await service.append_event(session, said(f"m{number}"))
        if number == 2:
            assert texts(await opened(service)) == ["m0", "m1", "m2"]

    for number in range(3):
        asyncio.run(turn(number))


async def test_what_was_committed_shows_though_the_caller_was_cancelled(
    service: DatabaseSessionService,
) -> None:
    session = await service.create_session(**KEY)
    task = asyncio.create_task(service.append_event(session, said("hello", {"k": 1})))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await service.append_event(session, said("then"))
    assert texts(session) == texts(await opened(service)) == ["hello", "then"]
    assert session.state == {"k": 1}


@pytest.mark.parametrize("url", SERVICES, indirect=True)
async def test_names_are_told_apart_to_the_letter(
    service: DatabaseSessionService, url: str
) -> None:
    await service.create_session(
        app_name="app", user_id="ann", session_id="s1", state={"user:a": 1}
    )
    for user, name in (("Ann", "s1"), ("ann", "S1"), ("ann ", "s1"), ("änn", "s1")):
        assert await service.get_session(app_name="app", user_id=user, session_id=name) is None
        await service.delete_session(app_name="app", user_id=user, session_id=name)
    for user in ("Ann", "ann ", "änn"):
        assert await service.get_user_state(app_name="app", user_id=user) == {}
        assert (await service.list_sessions(app_name="app", user_id=user)).sessions == []
    other = await service.create_session(app_name="app", user_id="Ann", session_id="s1")
    assert other.state == {}
    assert len(execute(url, "SELECT id FROM sessions")) == 2


async def test_leaving_the_block_of_a_service_closes_it(tmp_path: Path) -> None:
    async with DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path / 's.db'}") as service:
        await service.create_session(**KEY)
    with pytest.raises(RuntimeError, match="boom"):
        async with service:
            raise RuntimeError("boom")


async def test_the_memory_of_one_service_serves_every_loop() -> None:
    service = DatabaseSessionService("sqlite+aiosqlite:///:memory:")
    assert not service.shared
    session = await service.create_session(**KEY)

    async def elsewhere() -> None:
        found = await service.get_session(**KEY)
        assert found is not None
        await asyncio.gather(*(service.append_event(found, said(f"there {n}")) for n in range(10)))

    thread, _ = in_thread(elsewhere)
    await asyncio.gather(*(service.append_event(session, said(f"here {n}")) for n in range(10)))
    await asyncio.to_thread(thread.join)
    assert len(texts(await opened(service))) == 20
    await service.close()
