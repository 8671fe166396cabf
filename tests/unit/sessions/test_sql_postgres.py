"""Appends to PostgreSQL in one statement: what takes them, what does not, and answers that are
lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Engine, NullPool, Pool, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from ostinato.errors import LeaseLostError, SessionBusyError
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session, revision_of
from ostinato.sessions.sql import sql_appends
from ostinato.sessions.sql import sql_pool as _sql_pool
from ostinato.sessions.sql.postgres_append import number_parameters
from ostinato.sessions.store.durable_store import Fence, InboxMessage, JournalRow, Place
from tests.support.databases import execute, new_database
from tests.support.optionals import present
from tests.unit.sessions.talk import OWNER, PLACE, STALE, claim, reloaded, said, texts

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid()"
)
ROW = JournalRow("e-1", "c1", "started", "pay")


@pytest.fixture
def url() -> Iterator[str]:
    with new_database("postgres") as made:
        yield made


@pytest.fixture
async def service(url: str) -> AsyncIterator[DatabaseSessionService]:
    made = DatabaseSessionService(url)
    yield made
    await made.close()


@pytest.fixture
async def session(service: DatabaseSessionService) -> Session:
    return await service.create_session(**KEY, state={"k": 1, "gone": 1})


class Sent:
    """What is sent: statements that commit by themselves, and those of transactions."""

    def __init__(self) -> None:
        self.single: list[str] = []
        self.others: list[str] = []

    def take(self) -> tuple[int, int]:
        counts = len(self.single), len(self.others)
        self.single.clear()
        self.others.clear()
        return counts


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    counted, inner = Sent(), asyncpg.Connection.fetchrow

    async def fetchrow(self: Any, query: str, *values: Any) -> Any:
        if query.startswith("WITH"):
            counted.single.append(query)
        return await inner(self, query, *values)

    def note(*arguments: Any) -> None:
        counted.others.append(arguments[2])

    monkeypatch.setattr(asyncpg.Connection, "fetchrow", fetchrow)
    event.listen(Engine, "before_cursor_execute", note)
    yield counted
    event.remove(Engine, "before_cursor_execute", note)


def test_parameters_are_numbered_in_their_order() -> None:
    sql, names = number_parameters("SELECT :b, :a, :b, x::int WHERE {session}")
    assert sql.startswith("SELECT $1, $2, $1, x::int WHERE s.app_name = $3")
    assert names == ("b", "a", "app", "user", "id")


@pytest.mark.service
async def test_each_append_of_a_turn_is_one_statement(
    service: DatabaseSessionService, session: Session, sent: Sent
) -> None:
    sent.take()
    fence = await service.append(session, [said("a")], claim=claim(revision=0))
    assert (sent.take(), fence) == ((1, 0), Fence("me", 1))
    rows = [ROW, JournalRow("e-1", "c2", "started", "pay")]
    await service.append(session, [said("b")], rows, fence=fence)
    assert sent.take() == (1, 0)
    await service.append(session, [], [JournalRow("e-1", "c1", "finished", "pay", "5")], fence)
    assert sent.take() == (1, 0)
    await service.append(session, [said("c", {"n": 2, "gone": None})], fence=fence)
    assert sent.take() == (1, 0)
    found = await reloaded(service, session)
    assert texts(session) == texts(found) == ["a", "b", "c"]
    assert session.state == found.state == {"k": 1, "n": 2}
    assert {row.call_id: row.status for row in await service.journal(PLACE, "e-1")} == {
        "c1": "finished",
        "c2": "started",
    }
    sent.take()
    assert fence is not None
    await service.release(PLACE, fence)
    assert sent.take() == (1, 0)
    lease = await service.lease(PLACE)
    assert lease is not None and (lease.owner, lease.invocation_id) == ("", "")
    assert await service.journal(PLACE, "e-1") == []


@pytest.mark.service
async def test_a_finished_row_stays_finished(
    service: DatabaseSessionService, session: Session
) -> None:
    finished = JournalRow("e-1", "c1", "finished", "pay", "5")
    fence = await service.append(session, [said("a")], [finished], claim=claim())
    await service.append(session, [said("b")], [ROW], fence=fence)
    assert await service.journal(PLACE, "e-1") == [finished]


@pytest.mark.service
async def test_an_owner_that_waited_for_its_successor_appends_nothing(
    service: DatabaseSessionService, session: Session, url: str
) -> None:
    """A statement that waits for a lock sees other tables as they were before."""
    fence = await service.append(session, [said("a")], claim=claim())
    engine = create_async_engine(url)
    async with engine.connect() as successor:  # its claim brings no event
        await successor.execute(text("SELECT 1 FROM sessions FOR UPDATE"))
        two = [said("late"), said("later")]  # more than one statement stores
        append = asyncio.create_task(service.append(session, two, fence=fence))
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not (await successor.execute(text(waits))).scalar_one():
            assert not append.done()
            await successor.execute(text("SELECT pg_stat_clear_snapshot()"))
        await successor.execute(text("UPDATE ostinato_sessions SET owner = 'b', token = token + 1"))
        await successor.commit()
    await engine.dispose()
    with pytest.raises(LeaseLostError):
        await append
    assert texts(await reloaded(service, session)) == ["a"]


@pytest.mark.service
async def test_a_message_that_is_withdrawn_meanwhile_stops_no_claim(
    service: DatabaseSessionService, session: Session, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, inner = DatabaseSessionService(url), sql_appends.fetch_one
    await other.put_message(PLACE, InboxMessage("e-2", "them", "p", "{}"), 5.0)

    async def fetch_late(db: Any, statement: Any, values: Any) -> Any:
        if "ostinato_inbox WHERE sid" in str(statement):
            await other.leave_message(PLACE, "e-2", keep=False)
        return await inner(db, statement, values)

    with monkeypatch.context() as patch:
        patch.setattr(sql_appends, "fetch_one", fetch_late)
        fence = await service.append(session, [said("a")], claim=claim())
    assert fence == Fence("me", 1)
    assert await service.messages(PLACE) == []
    await other.close()


@pytest.mark.service
async def test_what_others_appended_meanwhile_comes_before(
    service: DatabaseSessionService, session: Session, url: str, sent: Sent
) -> None:
    fence = await service.append(session, [said("a")], claim=claim())
    other = DatabaseSessionService(url)
    theirs = await other.get_session(**KEY)
    assert theirs is not None
    await other.append_event(theirs, said("theirs", {"n": 1}))
    sent.take()
    await service.append(session, [said("b")], fence=fence)
    assert sent.take()[1] > 0  # by a transaction, which knows what to do
    await service.append(session, [said("c")], fence=fence)
    assert texts(await reloaded(other, session)) == ["a", "theirs", "b", "c"]
    await reloaded(service, session)  # since when all of it is remembered again
    sent.take()
    await service.append(session, [said("d")], fence=fence)
    assert sent.take() == (1, 0)
    await other.close()


@pytest.mark.service
async def test_a_lost_lease_is_told_as_ever(
    service: DatabaseSessionService, session: Session
) -> None:
    old = await service.append(session, [said("a")], claim=claim())
    assert old is not None
    await service.append(session, [], claim=claim("you", over=old.token))
    with pytest.raises(LeaseLostError) as caught:
        await service.append(session, [said("b")], [ROW], fence=old)
    assert str(caught.value) == STALE
    with pytest.raises(SessionBusyError, match="runs in session"):
        await service.append(session, [said("b")], claim=claim(invocation="e-2"))
    assert texts(await reloaded(service, session)) == ["a"]
    assert await service.journal(PLACE, "e-1") == []


class Torn:
    """A connection that ends while the next statements are under way.

    Attributes:
      times: for how many statements.
      arrives: whether the server gets them, and only its answers are lost.
      meanwhile: what others do then.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self.arrives = True
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        inner = asyncpg.Connection.fetchrow

        async def fetchrow(connection: Any, query: str, *values: Any) -> Any:
            if not self.times or not query.startswith("WITH"):
                return await inner(connection, query, *values)
            self.times -= 1
            if self.arrives:
                await inner(connection, query, *values)
            connection.terminate()
            if self.meanwhile is not None:
                await self.meanwhile()
            raise ConnectionResetError("the connection was lost")

        monkeypatch.setattr(asyncpg.Connection, "fetchrow", fetchrow)


@pytest.mark.service
async def test_an_append_whose_answer_was_lost_is_stored_once(
    service: DatabaseSessionService, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = Torn(monkeypatch)
    torn.times = 1
    fence = present(await service.append(session, [said("a", {"n": 1})], claim=claim(revision=0)))
    assert fence == Fence("me", 1)
    torn.times = 1
    await service.append(session, [said("b", {"n": 2})], [ROW], fence=fence)
    torn.times = 1
    await service.append(session, [], [JournalRow("e-1", "c2", "started", "pay")], fence=fence)
    await service.append(session, [said("c")], fence=fence)
    found = await reloaded(service, session)
    assert texts(session) == texts(found) == ["a", "b", "c"]
    assert revision_of(session) == 3
    assert session.state["n"] == found.state["n"] == 2
    assert {row.call_id for row in await service.journal(PLACE, "e-1")} == {"c1", "c2"}
    torn.times = 1
    await service.release(PLACE, fence)
    lease = await service.lease(PLACE)
    assert lease is not None and lease.owner == ""


@pytest.fixture
async def other(url: str) -> AsyncIterator[DatabaseSessionService]:
    """A service of another process."""
    made = DatabaseSessionService(url)
    yield made
    await made.close()


@pytest.fixture
async def theirs(other: DatabaseSessionService, session: Session) -> Session:
    """The session after its first event, as another process sees it."""
    found = present(await other.get_session(**KEY))
    await other.append_event(found, said("a"))
    return await reloaded(other, found)


@pytest.mark.service
@pytest.mark.parametrize("with_claim", [False, True])
async def test_an_append_upon_an_old_copy_is_not_mistaken_for_the_one_that_it_missed(
    service: DatabaseSessionService,
    other: DatabaseSessionService,
    theirs: Session,
    with_claim: bool,
) -> None:
    """Clocks of hosts differ: an event may be older than the newest stored one.

    It is stored right behind that one, at the same time as any other event would be.
    """
    session = await reloaded(service, theirs)
    fence = None if with_claim else await service.append(session, [], claim=claim())
    await other.append_event(theirs, said("theirs", timestamp=2.0))
    wish = claim() if with_claim else None
    await service.append(session, [said("b", timestamp=1.0)], fence=fence, claim=wish)
    for each in (other, service):
        assert texts(await reloaded(each, session)) == ["a", "theirs", "b"]


@pytest.mark.service
async def test_an_append_that_did_not_arrive_is_not_mistaken_for_another_one(
    service: DatabaseSessionService,
    other: DatabaseSessionService,
    theirs: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, torn = await reloaded(service, theirs), Torn(monkeypatch)
    fence = await service.append(session, [], claim=claim())
    torn.meanwhile = lambda: other.append_event(theirs, said("theirs", timestamp=2.0))
    torn.times, torn.arrives = 1, False
    await service.append(session, [said("b", {"n": 1}, timestamp=1.0)], fence=fence)
    found = await reloaded(other, session)
    assert texts(found) == texts(await reloaded(service, session)) == ["a", "theirs", "b"]
    assert found.state["n"] == 1


@pytest.mark.service
async def test_a_claim_that_did_not_arrive_is_not_mistaken_for_another_one(
    service: DatabaseSessionService,
    other: DatabaseSessionService,
    theirs: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, torn, first = await reloaded(service, theirs), Torn(monkeypatch), claim("you", "e-2")
    torn.meanwhile = lambda: other.append(theirs, [said("theirs", timestamp=2.0)], claim=first)
    torn.times, torn.arrives = 1, False
    with pytest.raises(SessionBusyError, match="'e-2' runs in session"):
        await service.append(session, [said("b", timestamp=1.0)], claim=claim())
    assert texts(await reloaded(service, session)) == ["a", "theirs"]


@pytest.mark.service
async def test_a_claim_whose_answer_was_lost_holds_no_session_that_was_taken_over(
    service: DatabaseSessionService,
    other: DatabaseSessionService,
    theirs: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, torn = await reloaded(service, theirs), Torn(monkeypatch)
    torn.meanwhile = lambda: other.append(theirs, [], claim=claim("you", over=1))
    torn.times = 1
    with pytest.raises(SessionBusyError, match="'e-1' runs in session"):
        await service.append(session, [said("b")], claim=claim())
    assert texts(await reloaded(service, session)) == ["a", "b"]


@pytest.mark.service
async def test_an_event_that_is_stored_already_is_passed_over(
    service: DatabaseSessionService, session: Session
) -> None:
    once = said("a")
    fence = await service.append(session, [once], claim=claim())
    await service.append(session, [once], [ROW], fence=fence)
    found = await reloaded(service, session)
    assert (texts(found), revision_of(found)) == (["a"], 1)
    assert await service.journal(PLACE, "e-1") == [ROW]


@pytest.mark.service
@pytest.mark.parametrize(
    "settings",
    [
        {"connect_args": {"statement_cache_size": 0}},
        {"isolation_level": "SERIALIZABLE"},
        {"connect_args": {"prepared_statement_cache_size": 0}},
    ],
    ids=str,
)
async def test_settings_that_ask_for_transactions_get_them(
    url: str, settings: dict[str, Any], sent: Sent
) -> None:
    service = DatabaseSessionService(url, **settings)
    session = await service.create_session(**KEY)
    fence = await service.append(session, [said("a")], claim=claim())
    await service.append(session, [said("b")], [ROW], fence=fence)
    assert sent.single == []
    assert texts(await reloaded(service, session)) == ["a", "b"]
    await service.close()


@pytest.mark.service
async def test_connections_that_the_server_closed_are_replaced(
    service: DatabaseSessionService, session: Session, url: str
) -> None:
    fence = await service.append(session, [said("a")], claim=claim())
    execute(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    await service.append(session, [said("b")], fence=fence)
    assert texts(await reloaded(service, session)) == ["a", "b"]


@pytest.fixture
def taken() -> Iterator[list[Any]]:
    """Connections that were taken out of a pool."""
    found: list[Any] = []

    def note(connection: Any, *_: Any) -> None:
        found.append(connection)

    event.listen(Pool, "checkout", note)
    yield found
    event.remove(Pool, "checkout", note)


@pytest.mark.service
async def test_the_next_append_uses_the_kept_connection_for_a_while(
    service: DatabaseSessionService,
    session: Session,
    taken: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_sql_pool, "FRESH_SECONDS", 1e9)
    taken.clear()
    fence = await service.append(session, [said("a")], claim=claim())
    for name in "bcd":
        await service.append(session, [said(name)], fence=fence)
    assert len(taken) == 1
    await service.get_session(**KEY)
    await service.append(session, [said("e")], fence=fence)
    assert len(taken) == 2  # the read has one of its own
    monkeypatch.setattr(_sql_pool, "FRESH_SECONDS", -1.0)
    await service.append(session, [said("f")], fence=fence)
    assert len(taken) == 3  # the pool has its say
    assert texts(await reloaded(service, session)) == list("abcdef")


@pytest.mark.service
@pytest.mark.parametrize(
    "settings",
    [
        {"pool_size": 1, "max_overflow": 0},
        {"pool_size": 2, "max_overflow": 0},
        {"pool_size": 2, "max_overflow": 1},
        {"poolclass": NullPool},
    ],
    ids=str,
)
async def test_a_kept_connection_blocks_no_other_caller(url: str, settings: dict[str, Any]) -> None:
    if "pool_size" in settings:
        settings = {**settings, "pool_timeout": 60}
    service = DatabaseSessionService(url, **settings)

    async def talk(number: int) -> list[str | None]:
        key: dict[str, Any] = {**OWNER, "session_id": f"s{number}"}
        session = await service.create_session(**key)
        fence = await service.append(session, [said("a")], claim=claim())
        for name in "bcd":
            await service.append(session, [said(name)], fence=fence)
            assert await service.get_session(**key) is not None
        assert fence is not None
        await service.release(Place(**key), fence)
        found = await service.get_session(**key)
        assert found is not None
        return texts(found)

    assert await asyncio.gather(*map(talk, range(8))) == [list("abcd")] * 8
    await service.close()
    assert execute(url, _CONNECTIONS) == [(0,)]


@pytest.mark.service
def test_no_connection_stays_open_when_its_loop_ends(url: str) -> None:
    service = DatabaseSessionService(url)

    async def talk() -> None:
        session = await service.create_session(**KEY)
        await service.append(session, [said("a")], claim=claim())

    asyncio.run(talk())
    assert execute(url, _CONNECTIONS) == [(0,)]
