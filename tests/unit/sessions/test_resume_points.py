"""Where an interrupted run goes on: tables of what an agent had done, and what is next."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.events import Event, EventActions
from ostinato.events.event_actions import EventCompaction
from ostinato.sessions.log.checkpoints import (
    Checkpoint,
    checkpoint_text,
    journalled_checkpoints,
    newest_checkpoint,
    recorded_checkpoints,
)
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.sessions.log.resume import Resume, ResumePoint
from ostinato.sessions.store.durable_store import JournalRow


def event(author: str, *parts: types.Part, branch: str | None = None, **fields: Any) -> Event:
    content = types.Content(role="model", parts=list(parts)) if parts else None
    fields.setdefault("invocation_id", "e-1")
    return Event(author=author, branch=branch, content=content, **fields)


def says(author: str = "a", text: str = "Hi", **fields: Any) -> Event:
    return event(author, types.Part(text=text), **fields)


def asks(*ids: str, author: str = "a", waiting: tuple[str, ...] = (), **fields: Any) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name=f"do_{i}")) for i in ids]
    return event(author, *parts, long_running_tool_ids=set(waiting), **fields)


def gives(*ids: str, author: str = "a", branch: str | None = None, **actions: Any) -> Event:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=i, name=f"do_{i}", response={}))
        for i in ids
    ]
    return event(author, *parts, branch=branch, actions=EventActions(**actions))


def user(*ids: str) -> Event:
    return gives(*ids, author="user") if ids else says("user", "Go")


def state(author: str, value: dict[str, Any], **fields: Any) -> Event:
    return event(author, actions=EventActions(agent_state=value), **fields)


def end(author: str = "a", **fields: Any) -> Event:
    return event(author, actions=EventActions(end_of_agent=True), **fields)


def failed(author: str = "a") -> Event:
    return Event(author=author, invocation_id="e-1", error_code="ValueError", error_message="no")


def code(result: bool = False, author: str = "a") -> Event:
    if result:
        outcome = types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="5")
        return event(author, types.Part(code_execution_result=outcome))
    return event(author, types.Part.from_executable_code(code="5", language=types.Language.PYTHON))


def resume(*events: Event, marks: list[Checkpoint] | None = None, start: int = 0) -> Resume:
    log = EventLog(EventRecord.of(e) for e in events)
    return Resume(log, "e-1", start, marks or recorded_checkpoints(log, "e-1"))


STATE_ONLY = EventActions(state_delta={"plan": 1})
SUMMARY = EventCompaction(start_timestamp=0, end_timestamp=1, compacted_content=types.Content())

TABLE: dict[str, tuple[list[Event], str]] = {
    "nothing but the message": ([], "model"),
    "the call event": ([asks("1")], "calls"),
    "a long-running call that waits": ([asks("1", waiting=("1",))], "calls"),
    "one that was answered": ([asks("1", waiting=("1",)), user("1")], "calls"),
    "its first result": ([asks("1", waiting=("1",)), gives("1")], "model"),
    "a request to the user, no response yet": ([asks("1"), asks("r", waiting=("r",))], "calls"),
    "what a node says that the call's tool has run": ([asks("1"), says("node")], "calls"),
    "the response event": ([asks("1"), gives("1")], "model"),
    "a response that is the answer": ([asks("1"), gives("1", skip_summarization=True)], "ended"),
    "a confirmation that waits": (
        [asks("1"), asks("r", waiting=("r",)), gives("1", skip_summarization=True)],
        "ended",
    ),
    "a confirmation that was given": (
        [asks("1"), asks("r", waiting=("r",)), gives("1", skip_summarization=True), user("r")],
        "model",
    ),
    "the confirmed call's response": (
        [
            asks("1"),
            asks("r", waiting=("r",)),
            gives("1", skip_summarization=True),
            user("r"),
            gives("1"),
        ],
        "model",
    ),
    "the response of a transfer": ([asks("1"), gives("1", transfer_to_agent="b")], "transfer"),
    "the final output, not yet said": (
        [asks("1"), gives("1", set_model_response={})],
        "structured",
    ),
    "the final output": ([asks("1"), gives("1", set_model_response={}), says()], "ended"),
    "the final text": ([asks("1"), gives("1"), says()], "ended"),
    "a text before a user's answer to its call": (
        [asks("1", waiting=("1",)), gives("1"), says(), user("1")],
        "model",
    ),
    "a text after that": (
        [asks("1", waiting=("1",)), gives("1"), says(), user("1"), says()],
        "ended",
    ),
    "code without a result": ([code()], "code"),
    "code and its result": ([code(), code(result=True)], "model"),
    "what came of code": ([code(), code(result=True), says()], "ended"),
    "a planner's state": ([event("a", actions=STATE_ONLY)], "model"),
    "an error": ([asks("1"), gives("1"), failed()], "model"),
    "an error of its own before somebody else": ([failed(), says("b")], "ended"),
    "somebody else's error": ([asks("1"), gives("1"), failed("shell")], "model"),
    "a summary": (
        [asks("1"), gives("1"), event("user", actions=EventActions(compaction=SUMMARY))],
        "model",
    ),
    "another agent's word alone": ([says("b")], "model"),
    "another agent's word before its own": ([says("b"), asks("1")], "calls"),
    "another agent's word after its own": ([asks("1"), gives("1"), says("b")], "ended"),
    "a word on another branch": ([says("a", branch="fan.a")], "model"),
    "a word of another invocation": ([says("a", invocation_id="e-0")], "model"),
}


@pytest.mark.spec(26)
@pytest.mark.parametrize("last", TABLE)
def test_an_agent_goes_on_after_what_it_did_last(last: str) -> None:
    events, kind = TABLE[last]
    assert resume(user(), *events).look("a", None).kind == kind


def kinds(found: Resume, agent: str, branch: str | None = None, times: int = 3) -> list[str]:
    return [found.take(agent, branch).kind for _ in range(times)]


@pytest.mark.spec(26, 76)
def test_each_round_takes_its_own_last_word_and_the_next_runs_anew() -> None:
    found = resume(user(), says(), says())
    assert kinds(found, "a") == ["ended", "ended", "model"]


@pytest.mark.spec(26, 103)
def test_a_branch_is_taken_by_itself() -> None:
    found = resume(user(), says(branch="f.a"), says(branch="g.a"))
    assert kinds(found, "a", "f.a", 2) == ["ended", "model"]
    assert kinds(found, "a", "g.a", 2) == ["ended", "model"]


@pytest.mark.spec(26, 66)
def test_transfers_there_and_back_are_walked_in_order() -> None:
    to_b, to_a = gives("1", transfer_to_agent="b"), gives("2", author="b", transfer_to_agent="a")
    found = resume(user(), asks("1"), to_b, asks("2", author="b"), to_a, asks("3"), gives("3"))
    assert [found.take(n, None).kind for n in ("a", "b", "a", "a")] == [
        "transfer",
        "transfer",
        "model",
        "model",
    ]


@pytest.mark.spec(26, 67)
def test_an_end_on_record_closes_the_run_before_it() -> None:
    found = resume(user(), says(), end(), says())
    assert found.take("a", None)[::3] == ("ended", True)
    assert found.take("a", None)[::3] == ("ended", False)
    # A text whose agent's end follows after another one's error.
    assert resume(user(), says(), failed("b"), end()).look("a", None).closed


@pytest.mark.spec(26)
def test_what_lies_before_the_start_is_not_looked_at() -> None:
    assert resume(user(), says(), asks("1"), start=2).look("a", None).kind == "calls"


@pytest.mark.spec(26, 35)
def test_a_checkpoint_passes_over_what_came_before_it() -> None:
    found = resume(user(), says(), state("loop", {"times_looped": 1}), asks("1"))
    found.enter("loop", None)
    assert found.take("a", None).kind == "calls"
    again = resume(user(), says(), state("loop", {"times_looped": 1}))
    again.enter("loop", None)
    assert again.take("a", None).kind == "model"


@pytest.mark.spec(26, 35)
def test_only_an_agent_that_goes_on_from_a_checkpoint_leaves_the_rest_behind() -> None:
    found = resume(user(), state("line", {}), says(), says("b"))
    found.leave("line", None)
    assert found.look("b", None).kind == "ended"
    found.enter("line", None)
    found.leave("line", None)
    assert found.look("b", None).kind == "model"


@pytest.mark.spec(26)
def test_an_end_is_taken_once() -> None:
    found = resume(user(), says(), end("line"), says(), end("line"))
    assert [found.take_end("line", None) for _ in range(3)] == [True, True, False]
    assert not resume(user(), end("line", branch="x")).take_end("line", None)


@pytest.mark.spec(26, 76)
def test_an_escalation_that_was_taken_is_told_once_to_the_branch_and_those_above() -> None:
    found = resume(user(), asks("1", branch="f.a"), gives("1", branch="f.a", escalate=True))
    found.take("a", "f.a")
    assert not found.take_escalation("g")
    assert found.take_escalation("f")
    assert not found.take_escalation("f")
    quiet = resume(user(), says(text='"escalate"'))
    quiet.take("a", None)
    assert not quiet.take_escalation(None)


@pytest.mark.spec(26)
def test_an_agent_has_begun_if_it_spoke_since_the_newest_message_or_noted_where_it_is() -> None:
    asked = asks("1", waiting=("1",))
    assert resume(user(), asked).has_begun("a", None)
    assert not resume(user(), asked).has_begun("b", None)
    assert not resume(user(), asked, user("1")).has_begun("a", None)
    assert resume(user(), asked, user("1"), says()).has_begun("a", None)
    assert resume(user(), state("line", {})).has_begun("line", None)
    assert not resume(user(), state("line", {}), end("line")).has_begun("x", None)


@pytest.mark.spec(26)
def test_the_run_broke_off_at_a_record_that_nobody_answered() -> None:
    for events, newest in (([asks("1")], True), ([asks("1"), user("1")], False)):
        found = resume(user(), *events)
        assert found.is_newest(found.look("a", None).record) is newest
    assert not found.is_newest(None)


def test_everything_of_a_branch_is_taken_when_its_last_record_is() -> None:
    found = resume(user(), says(), says(branch="f"))
    assert not found.is_over(None) and not found.is_over("f") and found.is_over("g")
    found.take("a", None)
    assert found.is_over(None) and not found.is_over("f")


@pytest.mark.spec(35)
def test_checkpoints_are_read_from_events_and_from_rows_alike() -> None:
    events = [
        user(),
        state("line", {"n": 1}, branch="x"),
        says(invocation_id="e-0"),
        end("line", branch="x"),
    ]
    log = EventLog(EventRecord.of(e) for e in events)
    wanted = [Checkpoint("line", "x", 2, {"n": 1}, False), Checkpoint("line", "x", 4, None, True)]
    assert recorded_checkpoints(log, "e-1") == wanted
    ids = [record.id for record in log.records]
    rows = [
        JournalRow("e-1", "agent:b", "state", "b", checkpoint_text("x", ids[3], None, True, 7)),
        JournalRow("e-1", "agent:a", "state", "a", checkpoint_text(None, None, {"n": 1}, False, 2)),
        JournalRow("e-1", "c1", "started", "pay"),
        JournalRow("e-1", "c2", "state", "ask"),
        JournalRow("e-1", "c3", "finished", "pay", "{}"),
    ]
    assert journalled_checkpoints(log, rows) == [
        Checkpoint("a", None, 0, {"n": 1}, False),
        Checkpoint("b", "x", 4, None, True),
    ]
    assert (newest_checkpoint(rows), newest_checkpoint(rows[2:])) == (7, 0)


def test_what_was_reached_names_the_first_record_that_is_not_of_that_run() -> None:
    found = resume(user(), asks("1"), gives("1"), says("b"))
    assert found.look("a", None) == ResumePoint("ended", 3)
