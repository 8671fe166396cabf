"""The events that a sliding window of compaction summarises."""

from __future__ import annotations

from typing import Any

from ostinato import types
from ostinato.events import Event, EventActions
from ostinato.events.event_actions import EventCompaction
from ostinato.flows.llm_flows.compaction import find_window
from ostinato.sessions.log.event_log import EventRecord


def make_record(number: int, invocation: str, **fields: Any) -> EventRecord:
    author = "user" if "text" in fields or "function_response" in fields else "a"
    actions = fields.pop("actions", None) or EventActions()
    content = types.Content(role=author, parts=[types.Part(**fields)]) if fields else None
    event = Event(
        id=f"e{number}",
        author=author,
        invocation_id=invocation,
        timestamp=float(number),
        content=content,
        actions=actions,
    )
    return EventRecord.of(event)


def summary(end: int) -> EventActions:
    said = types.Content(role="model", parts=[types.Part(text="sum")])
    return EventActions(
        compaction=EventCompaction(
            start_timestamp=0.0, end_timestamp=float(end), compacted_content=said
        )
    )


def test_invocations_within_the_time_of_one_that_waited_are_summarised_too():
    call = types.FunctionCall(id="c", name="ask", args={})
    answer = types.FunctionResponse(id="c", name="ask", response={"result": 1})
    records = [
        make_record(0, "i1", text="One"),
        make_record(1, "i1", function_call=call),
        make_record(2, "i2", text="Two"),
        make_record(3, "i2", text="Fine"),
        make_record(4, "c1", actions=summary(0)),
        make_record(5, "i1", function_response=answer),
        make_record(6, "i3", text="Three"),
    ]
    window = find_window(records, 2, 0)
    assert [record.id for record in window] == ["e0", "e1", "e2", "e3", "e5", "e6"]
