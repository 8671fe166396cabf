"""What waits is a query over rows that are written with the events: complete, in pages, flat."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import CallNotOpenError
from ostinato.events import Event
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite import sqlite_requests as requests
from ostinato.sessions.sqlite.sqlite_schema import FORMAT, VERSION
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import CallChanges, CallRequest, Place
from ostinato.testing import call
from ostinato.tools import LongRunningFunctionTool
from tests.approvals.kit import PLACE, Desk, decide
from tests.support.databases import SERVERS, execute, new_database


def request(number: int) -> CallRequest:
    """Return a request as the runtime writes one."""
    return CallRequest(
        call_id=f"call-{number}",
        kind="approval",
        name="adk_request_confirmation",
        invocation_id="i",
        event_id=f"event-{number}",
        author="clerk",
        asked=float(number),
        question='{"call": {"name": "adk_request_confirmation", "args": {}}}',
    )


async def fill(store: Any, users: int, each: int) -> None:
    """Store requests of several users, one session per request."""
    for number in range(users * each):
        session = await store.create_session(
            app_name="desk", user_id=f"u{number % users}", session_id=f"s{number}"
        )
        event = Event(id=f"event-{number}", invocation_id="i", author="clerk")
        await store.append(session, [event], changes=CallChanges(asked=[request(number)]))


async def test_the_inbox_comes_in_pages_newest_first(store: Any) -> None:
    await fill(store, users=2, each=4)
    seen: list[str] = []
    after = None
    while True:
        page = await store.open_requests("desk", limit=3, after=after)
        seen += [one.place.session_id for one in page.requests]
        after = page.next
        if after is None:
            break
    assert seen == [f"s{number}" for number in reversed(range(8))]
    of_user = await store.open_requests("desk", "u1")
    assert [one.place.session_id for one in of_user.requests] == ["s7", "s5", "s3", "s1"]
    assert (await store.open_requests("other")).requests == []
    found = of_user.requests[0].request
    assert found == request(7)


async def test_a_plain_turn_asks_nobody(store: Any) -> None:
    desk = Desk(store, "Hello.")
    await desk.say("Hi.")
    assert (await store.open_requests("desk")).requests == []


async def test_long_running_calls_wait_until_somebody_answers(store: Any) -> None:
    def order() -> None:
        """Order something."""

    desk = Desk(store, call("order"), "Wait.", "Done.", tools=[LongRunningFunctionTool(order)])
    asked = (await desk.say("Order."))[0].get_function_calls()[0]
    (one,) = (await store.open_requests("desk")).requests
    assert (one.request.kind, one.request.call_id) == ("result", asked.id)
    await desk.say(decide(asked, name="order"))
    assert (await store.open_requests("desk")).requests == []


async def test_a_file_of_an_earlier_version_has_its_open_requests_in_the_inbox(
    tmp_path: Path,
) -> None:
    """Asked and open, asked and answered, asked and taken back: the first one waits."""
    path = tmp_path / "s.db"
    store = SqliteSessionService(path)
    desk = Desk(store, *[call("pay", amount=5)] * 3, "Done.")
    asked = []
    for name in ("open", "answered", "rewound"):
        place = {**PLACE, "session_id": name}
        asked.append([e async for e in desk.runner.run_async(**place, new_message="Pay.")])
    answer = decide(next(c for e in asked[1] for c in e.get_function_calls() if c.name != "pay"))
    async for _ in desk.runner.run_async(**{**PLACE, "session_id": "answered"}, new_message=answer):
        pass
    await desk.runner.rewind_async(
        **{**PLACE, "session_id": "rewound"},
        rewind_before_invocation_id=asked[2][0].invocation_id,
    )
    rows = (await store.open_requests("desk")).requests
    await store.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE ostinato_effect_marks")
        db.execute("DROP TABLE ostinato_effects")
        db.execute("DROP TABLE ostinato_requests")
        db.execute(f"PRAGMA user_version = {VERSION - 3}")
    db.close()
    again = SqliteSessionService(path)
    found = (await again.open_requests("desk")).requests
    await again.close()
    assert [one.place.session_id for one in found] == ["open"]
    assert found[0].request.call_id == rows[0].request.call_id
    assert found[0].request.kind == "approval"


@pytest.fixture(
    params=["sqlite", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Each SQL database, empty."""
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 's.db'}"
        return
    with new_database(request.param) as made:
        yield made


async def test_an_answer_to_a_call_whose_events_were_deleted_takes_it_out_of_the_inbox(
    url: str,
) -> None:
    store = DatabaseSessionService(url)
    asked = await Desk(store).ask()
    await store.close()
    execute(url, "DELETE FROM events")
    store = DatabaseSessionService(url)
    desk = Desk(store, "Done.")
    assert len((await store.open_requests("desk")).requests) == 1
    refused = await desk.outcome(decide(asked))
    assert type(refused) is CallNotOpenError
    assert (await store.open_requests("desk")).requests == []
    assert desk.paid == []
    await store.close()


async def test_a_request_that_is_said_to_be_lost_stays_if_its_event_is_stored(store: Any) -> None:
    await fill(store, users=1, each=1)
    session = await store.get_session(app_name="desk", user_id="u0", session_id="s0")
    await store.append(session, (), changes=CallChanges(lost=("call-0", "unknown")))
    assert len((await store.open_requests("desk")).requests) == 1


async def test_a_database_of_an_earlier_version_has_its_open_requests_in_the_inbox(
    url: str,
) -> None:
    store = DatabaseSessionService(url)
    asked = await Desk(store).ask()
    await Desk(store, "Hello.").say("Hi.")
    before = [one.request.call_id for one in (await store.open_requests("desk")).requests]
    await store.close()
    execute(url, "DROP TABLE ostinato_requests")
    store = DatabaseSessionService(url)
    after = [one.request.call_id for one in (await store.open_requests("desk")).requests]
    assert after == before == [asked.id]
    desk = Desk(store, "Done.")
    await desk.say(decide(asked))
    await desk.outcome(decide(asked))
    assert desk.paid == [5]
    assert (await store.open_requests("desk")).requests == []
    await store.close()


def test_no_statement_of_the_inbox_reads_a_whole_table_of_a_file(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "s.db")
    for script in FORMAT.migrations:
        db.executescript(script)
    said: list[str] = []
    db.set_trace_callback(said.append)
    requests.open_requests(db, "desk", None, 10, None)
    requests.open_requests(db, "desk", "ann", 10, 5)
    requests.release_answers(db, Place("desk", "ann", "one"), "m")
    db.set_trace_callback(None)
    said = [one for one in said if not one.startswith("BEGIN")]
    assert len(said) == 3
    for statement in said:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not [step for step in plan if step.startswith("SCAN")], plan
        assert not [step for step in plan if "TEMP B-TREE" in step], plan
    db.close()


@pytest.mark.service
async def test_the_inbox_of_postgres_is_read_by_its_index() -> None:
    with new_database("postgres") as url:
        store = DatabaseSessionService(url)
        await fill(store, users=2, each=2)
        await store.close()
        execute(
            url,
            "INSERT INTO ostinato_requests (sid, app_name, user_id, call_id, kind, name, "
            "invocation_id, event_id, author, asked, question, answered) "
            "SELECT 1, 'desk', 'u' || n % 50, 'x' || n, 'approval', 'a', 'i', 'e', 'c', n, '', n "
            "FROM generate_series(1, 20000) n",
            "ANALYZE ostinato_requests",
        )
        columns = "r.pos, o.app_name, o.user_id, o.session_id, r.call_id"
        joined = "ostinato_requests r JOIN ostinato_sessions o ON o.sid = r.sid"
        for also in ("", "AND r.user_id = 'u1'"):
            rows = execute(
                url,
                f"EXPLAIN SELECT {columns} FROM {joined} WHERE r.answered IS NULL "
                f"AND r.app_name = 'desk' {also} AND r.pos < 99999 ORDER BY r.pos DESC LIMIT 11",
            )
            plan = "\n".join(row[0] for row in rows)
            assert "Seq Scan on ostinato_requests" not in plan, plan
            assert "ostinato_requests_o" in plan, plan
