"""google-adk and Ostinato take turns on one database, with the real packages."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.events.event import Event
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session
from ostinato.sessions.store.durable_store import JournalRow, Place
from tests.adk_database.conftest import Peer
from tests.support.databases import execute
from tests.unit.sessions.talk import OWNER, STALE, claim, said

pytestmark = pytest.mark.service

STATE = {"a": 1, "none": None, "deep": {"x": [None, 1.5]}, "user:u": 2, "app:p": 3, "temp:t": 4}
CALL = {"functionCall": {"id": "c1", "name": "add", "args": {"snake_key": 1, "camelKey": None}}}
ANSWER = {"functionResponse": {"id": "c1", "name": "add", "response": {"result": [1, None]}}}
EVENTS: list[dict[str, Any]] = [
    {
        "author": "user",
        "invocationId": "e-1",
        "content": {"role": "user", "parts": [{"text": "hé\u2028😀"}]},
        "actions": {"stateDelta": {"b": 2, "a": None, "user:v": 1, "app:p": None, "temp:t": 1}},
    },
    {
        "author": "bot",
        "branch": "a.b",
        "invocationId": "e-1",
        "content": {
            "role": "model",
            "parts": [
                CALL,
                {"inlineData": {"data": "AP_-", "mimeType": "image/png"}},
                {"text": "hm", "thought": True, "thoughtSignature": "__s="},
            ],
        },
        "longRunningToolIds": ["c1"],
        "usageMetadata": {"promptTokenCount": 3},
        "customMetadata": {"k": None},
    },
    {
        "author": "bot",
        "invocationId": "e-1",
        "content": {"role": "user", "parts": [ANSWER]},
        "actions": {
            "artifactDelta": {"file.txt": 1},
            "transferToAgent": "other",
            "requestedToolConfirmations": {"c1": {"hint": "sure?", "confirmed": False}},
        },
    },
    {
        "author": "user",
        "invocationId": "e-2",
        "actions": {
            "compaction": {
                "startTimestamp": 1.0,
                "endTimestamp": 2.5,
                "compactedContent": {"role": "model", "parts": [{"text": "summary"}]},
            }
        },
    },
    {"author": "bot", "invocationId": "e-2", "errorCode": "OOPS", "errorMessage": "it failed"},
]


def bare(value: Any) -> Any:
    """JSON without what is null or empty: the two name different things that are not there."""
    if isinstance(value, dict):
        shown = {name: bare(each) for name, each in value.items()}
        return {name: each for name, each in shown.items() if each not in (None, {}, [], "")}
    return [bare(each) for each in value] if isinstance(value, list) else value


def events_of(told: dict[str, Any]) -> tuple[list[Any], list[float]]:
    """Events as google-adk tells them: without their times, and their times."""
    found = [bare(each) for each in told["events"]]
    return found, [each.pop("timestamp") for each in found]


def assert_same(session: Session | None, told: dict[str, Any]) -> Session:
    """Check that a session reads as google-adk reads it."""
    assert session is not None
    dumps = [e.model_dump(mode="json", by_alias=True, exclude_none=True) for e in session.events]
    events, times = events_of({"events": dumps})
    theirs, their_times = events_of(told)
    assert events == theirs
    assert times == pytest.approx(their_times, abs=2e-6)
    assert session.state == {k: v for k, v in told["state"].items() if v is not None}
    assert session.last_update_time == pytest.approx(told["updated"], abs=2e-6)
    return session


async def read(ours: DatabaseSessionService, told: dict[str, Any]) -> Session:
    return assert_same(await ours.get_session(**OWNER, session_id="s1"), told)


@pytest.mark.spec(193)
async def test_taking_turns(peer: Peer, ours: DatabaseSessionService) -> None:
    peer.ask("create", id="s1", state=STATE)
    for event in EVENTS:
        peer.ask("load", id="s1")
        peer.ask("append", event=event)
    session = await read(ours, peer.ask("get", id="s1"))
    assert len(session.events) == len(EVENTS)
    assert session.state == {"b": 2, "deep": STATE["deep"], "user:u": 2, "user:v": 1}
    for event in EVENTS:
        await ours.append_event(session, Event.model_validate(event))
    told = peer.ask("get", id="s1")
    assert len(told["events"]) == 2 * len(EVENTS)
    session = await read(ours, told)
    peer.ask("load", id="s1")
    for number in range(3):
        peer.ask("append", event={"author": "x", "actions": {"stateDelta": {"n": number}}})
    session = await read(ours, peer.ask("get", id="s1"))
    await ours.append_event(session, said("last", {"n": None, "user:u": [1], "app:new": {}}))
    told = peer.ask("get", id="s1")
    assert (told["state"]["n"], told["state"]["user:u"], told["state"]["app:new"]) == (
        None,
        [1],
        {},
    )
    await read(ours, told)
    fresh = DatabaseSessionService(str(ours._target.url.render_as_string(hide_password=False)))
    await read(fresh, told)
    await fresh.close()


async def test_what_ours_made_google_adk_uses(peer: Peer, ours: DatabaseSessionService) -> None:
    session = await ours.create_session(**OWNER, session_id="s1", state=STATE)
    fence = await ours.append(session, [], claim=claim())
    for event in EVENTS:
        await ours.append(session, [Event.model_validate(event)], fence=fence)
    assert peer.ask("ids") == ["s1"]
    await read(ours, peer.ask("get", id="s1"))
    peer.ask("load", id="s1")
    peer.ask("append", event=EVENTS[0] | {"id": "theirs"})
    session = await read(ours, peer.ask("get", id="s1"))
    assert session.events[-1].id == "theirs"
    assert await ours.initial_state(session) == {"a": 1, "deep": STATE["deep"]}
    await ours.append(session, [said("mine")], fence=fence)  # the lease is not theirs to take
    await read(ours, peer.ask("get", id="s1"))


async def test_initial_state_of_a_session_that_google_adk_made(
    peer: Peer, ours: DatabaseSessionService
) -> None:
    peer.ask("create", id="s1", state=STATE)
    peer.ask("load", id="s1")
    peer.ask("append", event=EVENTS[0])
    session = await ours.get_session(**OWNER, session_id="s1")
    assert session is not None
    assert await ours.initial_state(session) == {"deep": STATE["deep"]}


@pytest.mark.spec(194)
async def test_google_adk_notices_that_its_copy_is_stale(
    peer: Peer, ours: DatabaseSessionService
) -> None:
    session = await ours.create_session(**OWNER, session_id="s1")
    peer.ask("load", id="s1")
    first = await ours.append_event(session, said("first"))
    with pytest.raises(AssertionError, match=STALE):
        peer.ask("append", event={"author": "x"})
    # an event that happened before the newest one changes the session all the same
    peer.ask("load", id="s1")
    await ours.append_event(session, said("earlier", timestamp=first.timestamp - 60))
    with pytest.raises(AssertionError, match=STALE):
        peer.ask("append", event={"author": "x"})
    peer.ask("load", id="s1")
    peer.ask("append", event={"author": "x"})
    told = peer.ask("get", id="s1")
    assert [e["author"] for e in told["events"]] == ["user", "user", "x"]
    seen = await ours.get_session(**OWNER, session_id="s1")
    assert seen is not None
    assert [e.timestamp - first.timestamp for e in seen.events[:2]] == [0, -60]


async def test_events_that_google_adk_put_between_ours(
    peer: Peer, ours: DatabaseSessionService
) -> None:
    session = await ours.create_session(**OWNER, session_id="s1")
    late = await ours.append_event(session, said("late"))
    peer.ask("load", id="s1")
    peer.ask("append", event={"author": "x", "id": "old", "timestamp": late.timestamp - 60})
    told = peer.ask("get", id="s1")
    assert [e["id"] for e in told["events"]] == ["old", late.id]
    session = await read(ours, told)
    await ours.append_event(session, said("later", {"k": 1}))
    again = await read(ours, peer.ask("get", id="s1"))
    assert [e.id for e in again.events][:2] == ["old", late.id]
    assert len(again.events) == 3


async def test_what_google_adk_deletes_is_gone_with_its_rows(
    peer: Peer, ours: DatabaseSessionService, url: str
) -> None:
    session = await ours.create_session(**OWNER, session_id="s1")
    rows = [JournalRow("e-1", "c1", "started", "pay")]
    await ours.append(session, [said("hello")], rows, claim=claim())
    peer.ask("delete", id="s1")
    assert await ours.get_session(**OWNER, session_id="s1") is None
    for table in ("ostinato_sessions", "ostinato_journal", "events"):
        assert execute(url, f"SELECT count(*) FROM {table}") == [(0,)]
    peer.ask("create", id="s1", state={"new": 1})
    again = await ours.get_session(**OWNER, session_id="s1")
    assert again is not None and (again.events, again.state) == ([], {"new": 1})
    assert await ours.lease(Place("app", "ann", "s1")) is None


async def test_a_run_of_ours_catches_up_with_what_google_adk_appends(
    peer: Peer, ours: DatabaseSessionService
) -> None:
    session = await ours.create_session(**OWNER, session_id="s1")
    fence = await ours.append(session, [said("a")], claim=claim())
    peer.ask("load", id="s1")
    peer.ask("append", event={"author": "x", "actions": {"stateDelta": {"k": 1}}})
    await ours.append(session, [said("b", {"k": 2})], fence=fence)
    told = peer.ask("get", id="s1")
    assert [e["author"] for e in told["events"]] == ["user", "x", "user"]
    assert (await read(ours, told)).state == {"k": 2}
