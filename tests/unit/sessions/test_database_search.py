"""Searching in a database that google-adk writes too, which knows nothing of the index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ostinato.sessions.database_session_service import DatabaseSessionService
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.sessions.talk import OWNER, reloaded, said

_SESSION = (
    "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) "
    "VALUES ('app', 'ann', :id, '{}', :time, :time)"
)
_EVENT = (
    "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data) "
    "VALUES (:event, 'app', 'ann', :id, 'e', :time, :data)"
)
_TOUCH = "UPDATE sessions SET update_time = :time WHERE id = :id"


@pytest.fixture(
    params=["file", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database."""
    if request.param == "file":
        yield f"sqlite+aiosqlite:///{tmp_path / 's.db'}"
        return
    with new_database(request.param) as server:
        yield server


def write_as_adk(url: str, session: str, text: str, hours_ago: float, *, makes: bool) -> None:
    """Write an event as google-adk does, into a session that it makes or one that there is."""
    time: Any = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=hours_ago)
    if url.startswith("sqlite"):
        time = time.isoformat(" ", "microseconds")
    data = {"author": "user", "content": {"role": "user", "parts": [{"text": text}]}}
    values = {"id": session, "time": time}
    event = {"event": f"{session}-{text}", "data": json.dumps(data)}
    execute(url, _SESSION if makes else _TOUCH, **values)
    execute(url, _EVENT.replace(":data", _cast(url)), **values, **event)


def _cast(url: str) -> str:
    return "CAST(CAST(:data AS text) AS jsonb)" if url.startswith("postgresql") else ":data"


async def find(store: DatabaseSessionService, text: str) -> list[str]:
    found = await store.search_sessions(app_name="app", text=text)
    while not found.complete:
        found = await store.search_sessions(app_name="app", text=text)
    return [one.id for one in found.sessions]


async def test_what_google_adk_wrote_is_found(url: str) -> None:
    store = DatabaseSessionService(url)
    ours = await store.create_session(**OWNER, session_id="ours")
    await store.append_event(ours, said("first"))
    write_as_adk(url, "theirs", "strange", 5, makes=True)
    assert await find(store, "first") == ["ours"]
    write_as_adk(url, "fresh", "strange", 0, makes=True)
    assert await find(store, "strange") == ["fresh", "theirs"]
    write_as_adk(url, "ours", "second", -0.001, makes=False)
    assert await find(store, "second") == ["ours"]
    assert await find(store, "first second") == ["ours"]
    session = await reloaded(store, ours)
    await store.append_event(session, said("third"))
    assert await find(store, "third first") == ["ours"]
    await store.close()


@pytest.mark.long
async def test_many_sessions_of_google_adk_are_found_step_by_step(url: str) -> None:
    store = DatabaseSessionService(url)
    await store.list_sessions(app_name="app")
    for number in range(120):
        write_as_adk(url, f"s{number:03}", "strange", 10 + number / 100, makes=True)
    assert len(await find(store, "strange")) == 50
    assert await find(store, "s119") == ["s119"]
    assert await find(store, "s000") == ["s000"]
    await store.close()


async def test_a_database_of_an_earlier_version_is_completed(url: str) -> None:
    store = DatabaseSessionService(url)
    ours = await store.create_session(**OWNER, session_id="ours")
    await store.append_event(ours, said("first"))
    await store.close()
    make_earlier(url)
    store = DatabaseSessionService(url)
    listed = await store.list_sessions(app_name="app", page_size=1)
    assert [one.id for one in listed.sessions] == ["ours"]
    assert await find(store, "first") == ["ours"]
    session = await reloaded(store, ours)
    await store.append_event(session, said("second"))
    assert await find(store, "first second") == ["ours"]
    await store.close()


def make_earlier(url: str) -> None:
    """Take away what databases had not before sessions could be searched."""
    indexes = {
        "sessions": ("ostinato_sessions_of_app", "ostinato_sessions_of_user"),
        "ostinato_inbox": ("ostinato_inbox_first",),
        "ostinato_sessions": ("ostinato_unindexed",),
    }
    if url.startswith("mysql"):  # which wants an index for each foreign key
        indexes["ostinato_inbox"] = ()
    dropped = [
        f"DROP INDEX {name}{f' ON {table}' if url.startswith('mysql') else ''}"
        for table, names in indexes.items()
        for name in names
    ]
    words = ["DROP TABLE ostinato_words"] if url.startswith("sqlite") else []
    execute(
        url,
        *words,
        "DROP TABLE ostinato_search",
        *dropped,
        "ALTER TABLE ostinato_sessions DROP COLUMN unindexed",
    )
