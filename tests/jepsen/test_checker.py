"""The checker finds each kind of violation in a history made by hand, and none in a sound one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jepsen.checker import CONFIRM, SHARED, check_history
from tests.jepsen.history import (
    FOREVER,
    Effect,
    Final,
    History,
    Logged,
    Operation,
    Recorder,
    read_operations,
)

Mend = Callable[[History], object]


def operation(name: str, kind: str, invoked: float, returned: float, **data: Any) -> Operation:
    """An operation on session `s` that succeeded."""
    result = {key: data.pop(key) for key in ("ids", "state") if key in data}
    return Operation(name, "c", "s", kind, invoked, returned, "ok", data, result)


def append(name: str, invoked: float, returned: float, seen: int, *own: str) -> Operation:
    return operation(name, "append", invoked, returned, tag=name, id=name, seen=seen, own=[*own])


def effect(tool: str, what: str, call: str, time: float, key: str = "") -> Effect:
    value = f"{tool} {what}"
    return Effect(tool, what, "s", call, key, value, time, (100 + time, 100 + time + 0.1))


def make_history() -> History:
    """A sound history: two appends, a turn with two calls, an approval, and reads between."""
    done = {"what": "m1", "value": "act m1"}
    events = [
        Logged("a1", "outside", time=101.0, tag="a1", delta={SHARED: "a1"}),
        Logged("u1", "user", "i1", 102.0, "m1"),
        Logged("c1", "root", "i1", 102.1, calls=[("call1", "act"), ("call2", "pay")]),
        Logged(
            "r1",
            "root",
            "i1",
            102.5,
            delta={SHARED: "pay m1"},
            responses=[
                ("call1", "act", done),
                ("call2", "pay", {"what": "m1", "value": "pay m1"}),
            ],
        ),
        Logged("t1", "root", "i1", 102.6),
        Logged("a2", "outside", time=104.0, tag="a2", delta={"own": "a2"}),
        Logged("u2", "user", "i2", 105.0, "q2"),
        Logged("c2", "root", "i2", 105.1, calls=[("call3", "approve"), ("ask3", CONFIRM)]),
        Logged("y2", "user", "i2", 106.0, "y1", responses=[("ask3", CONFIRM, {"payload": "y1"})]),
        Logged(
            "r2",
            "root",
            "i2",
            106.2,
            delta={SHARED: "approve q2"},
            responses=[("call3", "approve", {"value": "approve q2"})],
        ),
    ]
    ids = [event.id for event in events]
    first = {SHARED: "pay m1"}
    last = {SHARED: "approve q2", "own": "a2"}
    turn = operation("m", "message", 2.0, 3.0, tag="m1")
    turn.accepted, turn.seen = 2.05, [("c1", 2.15), ("r1", 2.55), ("t1", 2.65)]
    question = operation("q", "message", 5.0, 5.2, tag="q2")
    question.accepted = 5.05
    answer = {"call": "ask3", "what": "q2", "confirmed": True}
    late = operation("y2", "answer", 6.5, 6.6, tag="y2", **answer)
    late.outcome, late.error = "fail", "CallAlreadyAnsweredError: once"
    late.result = {"first": "y1"}
    unknown = operation("x", "append", 6.0, FOREVER, tag="x", id="x", seen=0, own=[])
    unknown.outcome = "info"
    return History(
        [
            append("a1", 1.0, 1.1, 0),
            turn,
            operation("read1", "read", 3.1, 3.2, ids=ids[:5], state=first),
            append("a2", 4.0, 4.1, 5),
            operation("tail1", "tail", 4.2, 4.3, ids=ids[4:6], state={**first, "own": "a2"}),
            question,
            operation("y1", "answer", 6.0, 6.4, tag="y1", **answer),
            late,
            unknown,
            operation("read2", "read", 7.0, 7.1, ids=ids, state=last),
        ],
        [
            effect("act", "m1", "call1", 2.2),
            effect("pay", "m1", "call2", 2.3, "key"),
            effect("approve", "q2", "call3", 6.1),
        ],
        {"s": Final(events, dict(last))},
    )


def find(history: History, name: str) -> Operation:
    return next(each for each in history.operations if each.name == name)


def final(history: History) -> Final:
    return history.finals["s"]


def drop_events(*ids: str) -> Mend:
    def act(history: History) -> None:
        kept = [event for event in final(history).events if event.id not in ids]
        final(history).events = kept

    return act


def double_event(event_id: str, new_id: str) -> Mend:
    def act(history: History) -> None:
        made = next(e for e in final(history).events if e.id == event_id)
        second = copy.deepcopy(made)
        second.id = new_id
        final(history).events.append(second)

    return act


def change(name: str, **values: Any) -> Mend:
    def act(history: History) -> None:
        for key, value in values.items():
            setattr(find(history, name), key, value)

    return act


def change_result(name: str, **values: Any) -> Mend:
    return lambda history: find(history, name).result.update(values)


def change_data(name: str, **values: Any) -> Mend:
    return lambda history: find(history, name).data.update(values)


def add_operation(made: Operation) -> Mend:
    return lambda history: history.operations.append(made)


def add_effect(made: Effect) -> Mend:
    return lambda history: history.effects.append(made)


def swap_read(history: History) -> None:
    ids = find(history, "read1").result["ids"]
    ids[0], ids[1] = ids[1], ids[0]


def cut_read(history: History) -> None:
    del find(history, "read2").result["ids"][3]


def write_late(history: History) -> None:
    """Let the payment's value be written before the value that an earlier event has."""
    history.effects[1].written = (100.0, 100.5)


def accept_queued(history: History) -> None:
    """Let the question be accepted before the first turn was asked for."""
    early = find(history, "q")
    early.invoked, early.accepted = 0.1, 0.2


def answer_twice(history: History) -> None:
    late = find(history, "y2")
    late.outcome, late.error, late.result = "ok", "", {}


def store_second_answer(history: History) -> None:
    final(history).events.append(
        Logged("y3", "user", "i2", 107.0, "y2", responses=[("ask3", CONFIRM, {"payload": "y2"})])
    )


def forget_response(history: History) -> None:
    final(history).events[3].responses.pop()


def repeat_response(history: History) -> None:
    final(history).events[4].responses.append(("call1", "act", {"value": "act m1"}))


def append_pair(*own: str) -> Mend:
    """Append two events that write one key, upon what was read before both.

    Args:
      own: events that the second one's session does not show because it appended them itself.
    """

    def act(history: History) -> None:
        for number, known in ((1, ()), (2, own)):
            name = f"b{number}"
            event = Logged(name, "outside", time=108.0, tag=name, delta={SHARED: name})
            final(history).events.append(event)
            final(history).state[SHARED] = name
            history.operations.append(append(name, 8.0 + number, 8.1 + number, 10, *known))

    return act


def leave_lease(history: History) -> None:
    final(history).left.append("open lease")


# What is broken, which rule finds it, and how it is broken.
BROKEN: list[tuple[str, str, Mend]] = [
    ("an acknowledged append is missing", "lost", drop_events("a2")),
    ("an event that was handed on is missing", "lost", drop_events("t1")),
    ("an accepted message is missing", "lost", drop_events("u1", "c1", "r1", "t1")),
    ("an accepted answer is missing", "lost", drop_events("y2")),
    ("an event is stored twice", "doubled", double_event("a2", "a2")),
    ("a message is stored twice", "doubled", double_event("u1", "u9")),
    ("a retried append is stored twice", "doubled", double_event("a2", "a9")),
    ("an event comes from nowhere", "phantom", change_data("a2", tag="other")),
    ("a refused append is stored", "phantom", change("a2", outcome="fail")),
    ("a read has two events in another order", "read", swap_read),
    ("a read lacks an event in the middle", "read", cut_read),
    ("a tail lacks an event", "read", change_result("tail1", ids=["r1", "a2"])),
    ("a read is stale", "order", change("read1", invoked=4.5, returned=4.6)),
    ("a read sees the future", "order", change("read2", invoked=3.0, returned=3.3)),
    ("appends are in another order than they came", "order", change("a1", invoked=4.5)),
    ("a client's reads go backwards", "order", change("tail1", returned=2.9, invoked=2.8)),
    ("a message overtakes an accepted one", "queue", accept_queued),
    ("a read shows another state than its events", "state", change_result("read1", state={})),
    ("a deletion did not count", "state", change_result("read2", state={SHARED: "a1"})),
    ("an append overwrote what it had not seen", "overwritten", append_pair()),
    ("an older write counts", "last write", write_late),
    ("two answers were accepted", "answer", answer_twice),
    ("two answers are stored", "answer", store_second_answer),
    ("an accepted answer was refused later", "answer", change("y2", accepted=6.55)),
    ("a refusal names another answer", "answer", change_result("y2", first="y9")),
    ("an unkeyed effect happened twice", "effect", add_effect(effect("act", "m1", "c", 2.4))),
    ("a keyed effect changed its key", "effect", add_effect(effect("pay", "m1", "c", 2.4, "k2"))),
    ("an effect was reported and did not happen", "effect", lambda h: h.effects.pop(0)),
    ("a call has two responses", "effect", repeat_response),
    ("an approval came after the effect", "effect", change("y1", invoked=6.3)),
    ("an effect was rejected", "effect", change_data("y1", confirmed=False)),
    ("a call has no response", "unsettled", forget_response),
    ("a lease is left", "unsettled", leave_lease),
    ("a client met an error of the runtime", "error", change("x", error="KeyError: 'x'")),
]


def test_a_sound_history_breaks_no_rule() -> None:
    assert check_history(make_history()) == []


@pytest.mark.parametrize(("kind", "mend"), [row[1:] for row in BROKEN], ids=[r[0] for r in BROKEN])
def test_a_broken_history_is_found(kind: str, mend: Mend) -> None:
    history = make_history()
    mend(history)
    assert kind in {violation.kind for violation in check_history(history)}


def test_writes_have_no_order_where_clocks_differ() -> None:
    history = make_history()
    write_late(history)
    history.clocks_agree = False
    assert check_history(history) == []


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_unknown_append_may_be_there_or_not(is_stored: bool) -> None:
    history = make_history()
    if is_stored:
        final(history).events.append(Logged("x", "outside", tag="x"))
    assert check_history(history) == []


def test_own_unseen_events_may_be_overwritten() -> None:
    history = make_history()
    append_pair("b1")(history)
    assert check_history(history) == []


def test_a_message_that_its_client_took_back_may_be_missing() -> None:
    history = make_history()
    taken = operation("z", "message", 8.0, 9.0, tag="m9")
    taken.accepted, taken.outcome, taken.error = 8.1, "info", "TimeoutError: "
    history.operations.append(taken)
    assert check_history(history) == []
    taken.error = "StoreError: away"
    assert {each.kind for each in check_history(history)} == {"lost"}


def test_a_message_that_was_taken_back_may_be_sent_again_behind_others() -> None:
    history = make_history()
    early = operation("q0", "message", 0.1, 1.9, tag="q2")
    early.accepted, early.outcome, early.error = 0.2, "info", "TimeoutError: "
    history.operations.append(early)
    assert check_history(history) == []
    early.error = "StoreError: away"
    assert {each.kind for each in check_history(history)} == {"queue"}


def test_what_a_recorder_notes_is_read_again(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "c.jsonl", "c")
    for ids in (["a", "b"], ["a", "b", "c"], ["a", "x"]):
        name = recorder.begin("read", "s")
        recorder.end_read(name, "s", ids, state={"n": len(ids)})
    message = recorder.begin("message", "s", tag="m")
    recorder.accept(message)
    recorder.see(message, "e1")
    found = read_operations([tmp_path / "c.jsonl"])
    assert [each.result.get("ids") for each in found] == [
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "x"],
        None,
    ]
    killed = found[-1]
    assert (killed.outcome, killed.returned, killed.tag) == ("info", FOREVER, "m")
    assert killed.invoked <= killed.accepted <= killed.seen[0][1] < FOREVER
