"""What a log says about an invocation: which calls are open, and what still waits for an answer."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.events import Event
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.sessions.log.resume import open_calls, waits_for_answer


def log_of(*events: Event) -> EventLog:
    return EventLog(EventRecord.of(event) for event in events)


def asks(*ids: str, branch: str | None = None, waiting: tuple[str, ...] = ()) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name=f"do_{i}")) for i in ids]
    return _event("desk", parts, branch, long_running_tool_ids=set(waiting))


def gives(*ids: str, author: str = "desk", branch: str | None = None) -> Event:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=i, name=f"do_{i}", response={}))
        for i in ids
    ]
    return _event(author, parts, branch)


def _event(author: str, parts: list[types.Part], branch: str | None, **fields: Any) -> Event:
    content = types.Content(role="model", parts=parts)
    return Event(author=author, invocation_id="e-1", branch=branch, content=content, **fields)


def open_ids(log: EventLog, branch: str | None = None, **options: Any) -> list[str]:
    return [call.call_id for call in open_calls(log, "e-1", branch, **options)]


@pytest.mark.spec(26)
def test_open_calls_are_those_without_a_later_response_oldest_first() -> None:
    log = log_of(asks("a", "b", "c", waiting=("c",)), gives("b"), asks("d"))
    found = open_calls(log, "e-1")
    assert [(call.call_id, call.name, call.long_running) for call in found] == [
        ("a", "do_a", False),
        ("c", "do_c", True),
        ("d", "do_d", False),
    ]
    assert [call.record for call in found] == [log.records[0], log.records[0], log.records[2]]
    assert open_calls(log, "e-2") == []


@pytest.mark.spec(26)
def test_an_answer_before_its_call_answers_nothing() -> None:
    assert open_ids(log_of(gives("a"), asks("a"))) == ["a"]


@pytest.mark.spec(26, 103)
def test_open_calls_are_those_of_the_branch_and_on_demand_of_those_below_it() -> None:
    log = log_of(
        asks("root"), asks("top", branch="a"), asks("low", branch="a.b"), asks("side", branch="ab")
    )
    assert open_ids(log) == ["root"]
    assert open_ids(log, below=True) == ["root", "top", "low", "side"]
    assert open_ids(log, "a") == ["top"]
    assert open_ids(log, "a", below=True) == ["top", "low"]


@pytest.mark.spec(26, 103)
def test_an_answer_on_another_branch_answers_too() -> None:
    assert open_ids(log_of(asks("a", branch="x"), gives("a", branch="y")), "x") == []


@pytest.mark.spec(26)
def test_a_long_running_call_waits_until_the_user_answers_it() -> None:
    asked = asks("a", waiting=("a",))
    assert waits_for_answer(log_of(asked), "e-1")
    assert waits_for_answer(log_of(asked, gives("a")), "e-1")
    assert waits_for_answer(log_of(asked, gives("b", author="user")), "e-1")
    assert not waits_for_answer(log_of(asked, gives("a", author="user")), "e-1")
    assert not waits_for_answer(log_of(asked), "e-2")
    assert not waits_for_answer(log_of(asks("a")), "e-1")


@pytest.mark.spec(26, 103)
def test_a_branch_waits_for_calls_of_its_own_and_of_those_below() -> None:
    log = log_of(asks("a", branch="x.y", waiting=("a",)))
    waits = {b: waits_for_answer(log, "e-1", b) for b in (None, "x", "x.y", "x.y.z", "z")}
    assert waits == {None: True, "x": True, "x.y": True, "x.y.z": False, "z": False}
    unbranched = log_of(asks("a", waiting=("a",)))
    assert waits_for_answer(unbranched, "e-1") and not waits_for_answer(unbranched, "e-1", "x")
