"""The journal of one invocation: which rows go with which commit."""

from __future__ import annotations

from typing import Any

from ostinato import types
from ostinato.durable.journal import Journal
from ostinato.events import Event
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.sessions.store.durable_store import JournalRow


def response(call_id: str, author: str = "clerk", **fields: Any) -> Event:
    answer = types.FunctionResponse(id=call_id, name="pay", response={})
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    return Event(author=author, invocation_id="e-1", content=content, **fields)


def row(call_id: str, status: Any, result: str | None = None) -> JournalRow:
    return JournalRow("e-1", call_id, status, "pay", result)


def test_an_expected_call_begins_with_its_event_and_only_with_that() -> None:
    journal, event = Journal("e-1"), Event(author="clerk")
    journal.expect(event.id, "c1", "pay", "started")
    assert [*journal.rows_with(Event(author="clerk"))] == []
    assert [*journal.rows_with(event)] == [row("c1", "started")]
    assert [*journal.rows_with(event)] == [] and journal.begin("c1", "pay") == ()


def test_a_call_that_is_only_known_of_begins_by_itself() -> None:
    journal, event = Journal("e-1"), Event(author="clerk")
    journal.expect(event.id, "c1", "pay", "state")
    assert [*journal.rows_with(event)] == [row("c1", "state")]
    assert [*journal.begin("c1", "pay")] == [row("c1", "started")]
    assert [*journal.begin("c1", "pay")] == []


def test_a_call_that_was_answered_has_a_row_of_its_own_for_the_next_time() -> None:
    journal = Journal("e-1")
    assert [*journal.begin("c1", "pay")] == [row("c1", "started")]
    journal.rows_with(response("c1"))
    assert [*journal.begin("c1", "pay")] == [row("c1#1", "started")]
    assert [*journal.finish("c1", "pay", "{}")] == [row("c1#1", "finished", "{}")]


def test_stored_rows_count_for_the_time_they_were_stored_in() -> None:
    stored = [row("c1", "finished", "{}"), row("c1#1", "started")]
    log = EventLog([EventRecord.of(response("c1")), EventRecord.of(response("c1", "user"))])
    assert Journal("e-1", stored).earlier_row("c1") == stored[0]
    assert Journal("e-1", stored, log).earlier_row("c1") == stored[1]
    assert Journal("e-1", stored, log).earlier_row("c2") is None


def test_a_stored_row_is_forgotten_when_this_process_takes_the_call_over() -> None:
    journal = Journal("e-1", [row("c1", "started"), row("c2", "started")])
    journal.begin("c1", "pay")
    journal.finish("c2", "pay", "{}")
    assert journal.earlier_row("c1") is None and journal.earlier_row("c2") is None


def test_checkpoints_and_added_rows_ride_with_the_next_commit_the_newest_of_each() -> None:
    journal = Journal("e-1")
    journal.checkpoint("line", None, "r1", {"n": 1}, False)
    journal.checkpoint("line", None, "r2", {"n": 2}, False)
    journal.add([row("c1", "finished", "{}")])
    found = [*journal.rows_with(Event(author="clerk"))]
    assert [r.call_id for r in found] == ["agent:line", "c1"]
    assert found[0].status == "state" and '"n":2' in (found[0].result or "")
    assert [*journal.rows_with(Event(author="clerk"))] == []
    journal.checkpoint("line", None, "r3", None, True)
    assert [r.call_id for r in journal.begin("c2", "pay")] == ["agent:line", "c2"]
    journal.checkpoint("line", None, "r3", None, True)
    assert [r.call_id for r in journal.finish("c2", "pay", "{}")] == ["agent:line", "c2"]


def test_checkpoints_are_numbered_on_from_those_that_are_stored() -> None:
    first = Journal("e-1")
    for _ in range(3):
        first.checkpoint("a", None, None, {}, False)
    stored = [*first.rows_with(Event(author="a"))]
    second = Journal("e-1", stored)
    second.checkpoint("b", None, None, None, True)
    stored += second.rows_with(Event(author="b"))
    marks = Journal("e-1", reversed(stored)).checkpoints(EventLog())
    assert [(mark.agent, mark.ended) for mark in marks] == [("a", False), ("b", True)]
