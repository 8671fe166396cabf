"""The compact records of events, and the log with its indexes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.events.event import Event, NodeInfo
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.sessions.log import event_log as kinds
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.types import Blob, Content, FunctionCall, FunctionResponse, Part


def record(name: str, invocation: str = "e-1", **fields: Any) -> EventRecord:
    return EventRecord.of(Event(id=name, invocation_id=invocation, author="bot", **fields))


def stored(original: EventRecord) -> EventRecord:
    return EventRecord.from_columns(
        id=original.id,
        invocation_id=original.invocation_id,
        author=original.author,
        branch=original.branch,
        timestamp=original.timestamp,
        data=original.data,
    )


def content(*parts: Part) -> Content:
    return Content(role="model", parts=list(parts))


EVENTS = [
    Event(author="user", content=content(Part(text='functionCall and "actions" as text'))),
    Event(author="bot", branch="a.b", invocation_id="e-9", turn_complete=True),
    Event(
        author="bot",
        content=content(
            Part(text="two"),
            Part(function_call=FunctionCall(id="c1", name="add", args={"none": None})),
            Part(function_call=FunctionCall(name="anonymous")),
        ),
        long_running_tool_ids={"c1"},
    ),
    Event(
        author="bot",
        content=content(
            Part(function_response=FunctionResponse(id="c1", name="add", response={"r": None}))
        ),
        actions=EventActions(state_delta={"gone": None}, transfer_to_agent="other"),
    ),
    Event(author="bot", content=content(Part(inline_data=Blob(data=b"\xff\x00", mime_type="a/b")))),
    Event(author="bot", node_info=NodeInfo(path="a@1/b@2"), output={"deep": [1, None]}),
    Event(author="bot", actions=EventActions(route=False)),
    Event(author="bot", actions=EventActions(set_model_response={})),
    Event(author="bot", error_code="Boom", error_message="no", custom_metadata={"k": [1.5]}),
]


@pytest.mark.parametrize("event", EVENTS, ids=range(len(EVENTS)))
def test_a_record_gives_its_event_back(event: Event) -> None:
    taken = EventRecord.of(event)
    again = stored(taken)
    assert taken.event() == again.event() == event
    for mark in ("calls", "responses", "kinds", "long_running", "transfer_to_agent"):
        assert getattr(taken, mark) == getattr(again, mark)


@given(st.text(), st.dictionaries(st.text(), st.none() | st.booleans() | st.text() | st.integers()))
def test_any_text_and_state_come_back(text: str, delta: dict[str, Any]) -> None:
    event = Event(content=content(Part(text=text)), actions=EventActions(state_delta=delta))
    assert stored(EventRecord.of(event)).event() == event


def test_marks_are_read_from_the_parts() -> None:
    calls, responses = (EventRecord.of(EVENTS[n]) for n in (2, 3))
    assert calls.calls == (("c1", "add"), (None, "anonymous"))
    assert calls.long_running == {"c1"}
    assert responses.responses == (("c1", "add"),)
    assert responses.transfer_to_agent == "other"


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        (EventActions(), 0),
        (
            EventActions(
                compaction=EventCompaction(
                    start_timestamp=1.0, end_timestamp=2.0, compacted_content=content()
                )
            ),
            kinds.COMPACTION,
        ),
        (EventActions(rewind_before_invocation_id="e-1"), kinds.REWIND),
        (EventActions(agent_state={}), kinds.AGENT_STATE),
        (EventActions(end_of_agent=True), kinds.END_OF_AGENT),
        (EventActions(state_delta={"a": None}), kinds.STATE_DELTA),
        (EventActions(artifact_delta={"f": 0}), kinds.ARTIFACT_DELTA),
        (EventActions(agent_state={"a": 1}, end_of_agent=True), 4 | 8),
    ],
)
def test_kinds(actions: EventActions, kind: int) -> None:
    taken = EventRecord.of(Event(actions=actions))
    assert taken.kinds == stored(taken).kinds == kind


def test_a_record_is_a_snapshot() -> None:
    event = Event(content=content(Part(text="before")))
    taken = EventRecord.of(event)
    event.content = None
    live = taken.event()
    assert live.content is not None
    live.content = None
    assert taken.event().content is not None


def test_a_value_that_json_cannot_carry() -> None:
    event = Event(custom_metadata={"k": object})
    with pytest.raises(ValueError, match="serialize"):
        EventRecord.of(event)
    assert EventRecord.of(event, fallback=lambda _: "made up").event().custom_metadata == {
        "k": "made up"
    }


def test_an_id_is_in_a_log_once() -> None:
    log = EventLog([record("a")])
    assert not log.append(record("a", "e-2"))
    assert log.append(record("b"))
    assert [r.id for r in log.records] == ["a", "b"]
    assert log.start_of("e-2") is None
    assert len(log) == 2


def test_records_of_an_invocation() -> None:
    log = EventLog(
        [
            record("a", "e-1"),
            record("b", "e-2", branch="x"),
            record("c", "e-1"),
            record("d", "e-2"),
        ]
    )
    assert log.start_of("e-2") == 1
    assert [r.id for r in log.invocation("e-1")] == ["c", "a"]
    assert [r.id for r in log.invocation("e-2")] == ["d", "b"]
    assert [r.id for r in log.invocation("e-2", "x")] == ["b"]
    assert list(log.invocation("e-3")) == []


def test_find_call_takes_the_newest() -> None:
    call = content(Part(function_call=FunctionCall(id="c1", name="add")))
    log = EventLog([record("a", content=call), record("b", content=call), record("c")])
    found = log.find_call("c1")
    assert found is not None and found.id == "b"
    assert log.find_call("c2") is None


def test_a_stored_call_without_a_name_is_read_like_one_that_was_appended() -> None:
    record = EventRecord.from_columns(
        id="1",
        invocation_id="e-1",
        author="a",
        branch=None,
        timestamp=1.0,
        data='{"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":null}}]}}',
    )
    appended = EventRecord.of(Event.model_validate_json(record.data))
    assert record.calls == appended.calls == (("c", ""),)
