"""A session opened from what a process remembers: its first append claims it, and finds whether
that is how it is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import SessionNotFoundError, StaleSessionError
from ostinato.runners import Runner
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import JournalRow
from ostinato.testing import ScriptedModel
from tests.support.databases import SERVERS, execute, new_database
from tests.support.optionals import present
from tests.unit.sessions.talk import OWNER, PLACE, STALE, claim, reloaded, said, texts

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
Make = Callable[[], Any]


@pytest.fixture(
    params=["file", "sql file", *(pytest.param(s, marks=pytest.mark.service) for s in SERVERS)]
)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes services over one new, empty store."""
    if request.param == "file":
        yield lambda: SqliteSessionService(tmp_path / "s.db")
    elif request.param == "sql file":
        yield lambda: DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path / 's.db'}")
    else:
        with new_database(request.param) as url:
            yield lambda: DatabaseSessionService(url)


@pytest.fixture
async def here(make: Make) -> AsyncIterator[Any]:
    service = make()
    yield service
    await service.close()


@pytest.fixture
async def there(make: Make) -> AsyncIterator[Any]:
    service = make()
    yield service
    await service.close()


async def known(service: Any, **state: Any) -> Session:
    """Make the session with one event and load it, so that the service remembers it."""
    await service.append_event(await service.create_session(**KEY, state=state), said("first"))
    loaded = await service.open_session(**KEY)
    assert loaded is not None
    return loaded


async def remembered(service: Any) -> Session:
    session = await service.open_session(**KEY, complete=False, asks=False)
    assert session is not None
    return session


async def test_a_claim_accepts_what_is_as_it_is_remembered(here: Any) -> None:
    await known(here, **{"k": 1, "user:u": 2, "app:a": 3})
    session = await remembered(here)
    assert (texts(session), session.state) == (["first"], {"k": 1, "user:u": 2, "app:a": 3})
    rows = [JournalRow("e-1", "c1", "started", "pay")]
    fence = await here.append(session, [said("hello", {"k": 5})], rows, claim=claim(revision=1))
    await here.append(session, [said("bye")], fence=fence)
    found = await reloaded(here, session)
    assert texts(session) == texts(found) == ["first", "hello", "bye"]
    assert session.state == found.state == {"k": 5, "user:u": 2, "app:a": 3}
    assert await here.journal(PLACE, "e-1") == rows


@pytest.mark.parametrize("delta", [{}, {"k": 2}, {"user:u": 2}, {"app:a": 2}], ids=str)
async def test_a_claim_refuses_what_is_out_of_date(
    here: Any, there: Any, delta: dict[str, Any]
) -> None:
    await known(here, **{"user:u": 1})
    await there.append_event(await there.open_session(**KEY), said("theirs", delta))
    session = await remembered(here)
    assert texts(session) == ["first"]
    with pytest.raises(StaleSessionError) as caught:
        await here.append(session, [said("mine")], claim=claim(revision=1))
    assert str(caught.value) == STALE
    assert await here.lease(PLACE) is None
    assert texts(await reloaded(here, session)) == ["first", "theirs"]


async def test_shared_state_that_another_session_changed_is_out_of_date(
    here: Any, there: Any
) -> None:
    await known(here, **{"user:u": 1, "app:a": 1})
    other = await there.create_session(**OWNER, session_id="s2")
    for key in ("user:u", "app:a"):
        await there.append_event(other, said("theirs", {key: 2}))
        session = await remembered(here)
        with pytest.raises(StaleSessionError):
            await here.append(session, [said("mine")], claim=claim(revision=1))
        assert (await here.open_session(**KEY)).state[key] == 2


async def test_a_session_made_anew_is_another_one(here: Any, there: Any) -> None:
    await known(here)
    await there.delete_session(**KEY)
    await known(there)
    session = await remembered(here)
    with pytest.raises(StaleSessionError):
        await here.append(session, [said("mine")], claim=claim(revision=1))


def runner_over(service: Any, **settings: Any) -> Runner:
    agent = LlmAgent(name="bot", model=ScriptedModel(["one", "two", "three"]), instruction="Hi.")
    return Runner(agent=agent, app_name="app", session_service=service, **settings)


async def say(runner: Runner, text: str) -> list[str | None]:
    events = [
        event async for event in runner.run_async(user_id="ann", session_id="s1", new_message=text)
    ]
    return [(event.content.parts or [])[0].text for event in events if event.content]


async def test_a_run_sees_what_others_stored_meanwhile(here: Any, there: Any) -> None:
    await here.create_session(**KEY)
    runner = runner_over(here)
    assert await say(runner, "hello") == ["one"]
    await here.flush()
    await there.append_event(await there.open_session(**KEY), said("theirs", {"k": 1}))
    assert await say(runner, "again") == ["two"]
    found = await there.get_session(**KEY)
    assert texts(found) == ["hello", "one", "theirs", "again", "two"]


async def test_a_run_in_a_session_that_others_deleted(here: Any, there: Any) -> None:
    await here.create_session(**KEY)
    runner = runner_over(here)
    await say(runner, "hello")
    await here.flush()
    await there.delete_session(**KEY)
    with pytest.raises(SessionNotFoundError):
        await say(runner, "again")
    assert await there.get_session(**KEY) is None


async def test_a_run_makes_a_session_anew_that_others_deleted(here: Any, there: Any) -> None:
    runner = runner_over(here, auto_create_session=True)
    await say(runner, "hello")
    await here.flush()
    await there.delete_session(**KEY)
    assert await say(runner, "again") == ["two"]
    assert texts(await there.get_session(**KEY)) == ["again", "two"]


@pytest.mark.service
async def test_state_that_google_adk_changed_without_an_event_is_out_of_date() -> None:
    with new_database("postgres") as url:
        here = DatabaseSessionService(url)
        await known(here)
        execute(url, "UPDATE sessions SET state = '{\"k\": 9}', update_time = now()")
        session = await remembered(here)
        with pytest.raises(StaleSessionError):
            await here.append(session, [said("mine")], claim=claim(revision=1))
        assert present(await here.open_session(**KEY)).state == {"k": 9}
        await here.close()
