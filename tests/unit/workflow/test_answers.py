"""Answers fitted to JSON schemas, and what the log says about nodes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.events.event import Event, NodeInfo
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.tools.json_fit import parse_answer
from ostinato.workflow.rehydrate import Mark, Past


class Leg(BaseModel):
    city: str
    days: int | None = None


class Trip(BaseModel):
    legs: list[Leg]
    kind: str = "fast"


TRIP = Trip.model_json_schema()


@pytest.mark.spec(217)
@pytest.mark.parametrize(
    ("response", "schema", "expected"),
    [
        ({"result": "yes"}, None, "yes"),
        ({"a": 1}, None, {"a": 1}),
        ({"result": 1, "b": 2}, None, {"result": 1, "b": 2}),
        (None, None, None),
        ({"result": "7"}, {"type": "integer"}, 7),
        ({"result": 7.0}, {"type": "integer"}, 7.0),
        ({"result": "true"}, {"type": "boolean"}, True),
        ({"result": "7"}, {"type": "string"}, "7"),
        ({"result": None}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ({"result": [1, "2"]}, {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ({"legs": [{"city": "Rome", "days": "3"}]}, TRIP, {"legs": [{"city": "Rome", "days": 3}]}),
        ({"result": '{"legs": []}'}, TRIP, {"legs": []}),
        ({"result": "b"}, {"enum": ["a", "b"]}, "b"),
        ({"result": 3}, {"type": ["string", "number"]}, 3),
    ],
)
def test_answers_that_fit(response: Any, schema: Any, expected: Any) -> None:
    assert parse_answer(response, schema) == expected


@pytest.mark.spec(217)
@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ("many", {"type": "integer"}, "the answer is 'many', not of type integer"),
        (True, {"type": "integer"}, "not of type integer"),
        ("c", {"enum": ["a", "b"]}, "not one of"),
        (1, {"const": 2}, "not 2"),
        (-1, {"type": "integer", "minimum": 0}, "less than the minimum of 0"),
        ({"legs": [{"days": 1}]}, TRIP, r"the answer\.legs\[0\] lacks city"),
        ({"a": 1}, {"type": "object", "additionalProperties": False}, "may not have"),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "string.*null"),
    ],
)
def test_answers_that_do_not_fit(value: Any, schema: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){said}"):
        parse_answer({"result": value}, schema)


def record(path: str, **fields: Any) -> EventRecord:
    info = NodeInfo(path=path, output_for=fields.pop("output_for", None))
    return EventRecord.of(Event(invocation_id="e", author="flow", node_info=info, **fields))


@pytest.mark.spec(217)
def test_the_past_is_read_once_and_then_on() -> None:
    log = EventLog([record("flow@1/a@1", output=1, output_for=["flow@1/a@1"])])
    past = Past("e")
    past.read_log(log)
    assert past.runs["flow@1/a@1"].finished == 0 and past.runs["flow@1"].finished is None
    log.append(record("flow@1/b@1", output=2, output_for=["flow@1/b@1", "flow@1"]))
    log.append(record("flow@1/c@1", error_code="ValueError"))
    past.read_log(log)
    past.read_log(log, [Mark("flow@1/d@1", 3, route="on")])
    assert past.runs["flow@1"].output == 2 and past.runs["flow@1"].finished is None
    assert past.runs["flow@1/c@1"].errors == 1
    assert (past.runs["flow@1/d@1"].finished, past.runs["flow@1/d@1"].route) == (2.5, "on")
    assert past.newest == {"flow": 1, "flow@1/a": 1, "flow@1/b": 1, "flow@1/c": 1}
