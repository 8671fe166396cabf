"""Session: the events it builds from its log, edits of the list, copies."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ostinato.events.event import Event
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.sessions.session import (
    Session,
    apply_event,
    copy_state,
    log_of,
    session_on,
    tombstones_of,
)

OWNER: dict[str, Any] = {"id": "s1", "app_name": "app", "user_id": "ann"}


def event(name: str, **delta: Any) -> Event:
    made = Event(id=name, author="user", invocation_id="e-1")
    made.actions.state_delta = delta
    return made


def on_log(log: EventLog) -> Session:
    return session_on(log, **OWNER, state={}, tombstones=set(), last_update_time=1.0)


def log_with(*names: str) -> EventLog:
    return EventLog(EventRecord.of(event(name)) for name in names)


def commit(session: Session, made: Event) -> None:
    apply_event(session, made, EventRecord.of(made))


def ids(session: Session) -> list[str]:
    return [e.id for e in session.events]


def logged(session: Session) -> list[str]:
    return [r.id for r in log_of(session).records]


def test_events_are_built_once_when_touched() -> None:
    session = on_log(log_with("a", "b"))
    assert "events" not in vars(session)
    assert ids(session) == ["a", "b"]
    assert session.events is session.events
    assert session.events[0] is session.events[0]


def test_events_are_those_the_session_has_seen() -> None:
    log = log_with("a")
    session = on_log(log)
    log.append(EventRecord.of(event("other")))
    assert ids(session) == ["a"]
    commit(session, event("b"))
    assert ids(session) == ["a", "b"]


@pytest.mark.parametrize("touched", [True, False])
def test_a_commit_shows(touched: bool) -> None:
    session = on_log(log_with("a"))
    if touched:
        assert ids(session) == ["a"]
    made = event("b", n=1, gone=None)
    commit(session, made)
    assert ids(session) == ["a", "b"]
    assert logged(session) == ["a", "b"]
    assert session.state == {"n": 1}
    assert tombstones_of(session) == {"gone"}
    assert session.last_update_time == made.timestamp
    assert (session.events[1] is made) == touched


def test_the_log_is_shared_until_the_list_is_edited() -> None:
    log = log_with("a", "b")
    session = on_log(log)
    assert log_of(session) is log
    assert ids(session) == ["a", "b"]
    assert log_of(session) is log
    session.events.insert(1, event("new"))
    assert logged(session) == ["a", "new", "b"]
    assert [r.id for r in log.records] == ["a", "b"]
    assert log_of(session) is log_of(session)
    commit(session, event("c"))
    assert logged(session) == ids(session) == ["a", "new", "b", "c"]
    del session.events[0]
    assert logged(session) == ["new", "b", "c"]
    session.events = []
    assert logged(session) == []


def test_unedited_events_keep_their_records() -> None:
    log = log_with("a", "b")
    session = on_log(log)
    session.events.pop()
    assert log_of(session).records == log.records[:1]
    kept = log_of(session).records[0]
    session.events.append(event("c"))
    assert log_of(session).records[0] is kept


def test_edits_of_a_list_keep_to_their_own_records_on_a_shared_log() -> None:
    log = log_with("a")
    mine, other = on_log(log), on_log(log)
    assert ids(mine) == ["a"]
    commit(other, event("theirs"))
    commit(mine, event("mine"))
    assert ids(mine) == ["a", "mine"]
    assert logged(mine) == ["a", "theirs", "mine"]
    mine.events.pop(0)
    assert logged(mine) == ["mine"]


def test_an_event_twice_in_the_list_counts_once() -> None:
    session = on_log(log_with("a", "b"))
    session.events.append(session.events[0])
    assert logged(session) == ["a", "b"]
    commit(session, event("c"))
    session.events.pop(0)
    assert logged(session) == ["b", "a", "c"]


def test_edits_inside_an_event_do_not_show() -> None:
    session = on_log(log_with("a", "b"))
    session.events[0].author = "changed"
    assert log_of(session).records[0].author == "user"
    commit(session, event("c"))
    session.events[2].author = "changed"
    session.events.pop(1)
    assert [(r.id, r.author) for r in log_of(session).records] == [("a", "user"), ("c", "user")]


def test_a_session_made_by_hand() -> None:
    session = Session(**OWNER, events=[event("a")])
    assert logged(session) == ["a"]
    commit(session, event("b", n=1))
    assert ids(session) == logged(session) == ["a", "b"]
    assert session.session_id == "s1"
    assert logged(Session(**OWNER)) == []


def test_copies_are_apart() -> None:
    session = on_log(log_with("a"))
    session.state["deep"] = [1]
    tombstones_of(session).add("gone")
    shallow, deep = copy.copy(session), copy.deepcopy(session)
    assert shallow == deep == session
    assert tombstones_of(deep) == {"gone"}
    commit(session, event("b", n=1))
    session.state["deep"].append(2)
    tombstones_of(session).clear()
    assert ids(deep) == ["a"]
    assert deep.state == {"deep": [1]}
    assert tombstones_of(deep) == {"gone"}
    deep.events[0].author = "changed"
    assert session.events[0].author == "user"


def test_json_both_ways() -> None:
    session = on_log(log_with("a"))
    text = session.model_dump_json(by_alias=True)
    assert '"appName":"app"' in text
    assert Session.model_validate_json(text) == session
    assert session != on_log(log_with("b"))
    assert session != "session"


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="extra"):
        Session(**OWNER, nope=1)  # pyright: ignore[reportCallIssue]


def test_copy_state() -> None:
    state = {"text": "a", "deep": {"list": [1]}}
    copied = copy_state(state)
    copied["deep"]["list"].append(2)
    copied["text"] = "b"
    assert state == {"text": "a", "deep": {"list": [1]}}
