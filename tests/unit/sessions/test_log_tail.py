"""Where the tail of a compacted log starts: a run sees the same in it as in all of the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostinato import types
from ostinato.events import Event, EventActions
from ostinato.events.event_actions import EventCompaction
from ostinato.flows.llm_flows.compaction import _find_old_events, find_window
from ostinato.flows.llm_flows.contents import find_turn_start
from ostinato.flows.llm_flows.history import arrangement
from ostinato.flows.llm_flows.history import projection as _history
from ostinato.flows.llm_flows.history.visibility import View
from ostinato.sessions.log.event_log import COMPACTION, EventLog, EventRecord, visible_records
from ostinato.sessions.log.resume import open_calls
from ostinato.sessions.sqlite import sqlite_rows as _sqlite_rows
from ostinato.sessions.sqlite.sqlite_file import MEMORY, SqliteFile, connect
from ostinato.sessions.sqlite.sqlite_schema import FORMAT
from ostinato.sessions.store.stored_rows import Loaded
from tests.support.tries import tries

KEY = ("app", "ann", "s1")
VIEWS = [
    View("one"),
    View("two"),
    View("one", "top.one"),
    View("two", "top.one.in.deep"),
    View("one", None, keep_ids=True),
]


class Story:
    """A session that is written to a database and kept beside it in full."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.full = EventLog()
        self.turn = 0
        self.shift = 0.0
        _sqlite_rows.create_session(db, KEY, _sqlite_rows.Changes(), 0.0)

    def add(self, author: str, branch: str | None = None, **fields: Any) -> None:
        stamp = float(len(self.full)) + self.shift
        given = {"invocation_id": f"inv{self.turn}", "timestamp": stamp} | fields
        record = EventRecord.of(Event(author=author, branch=branch, **given))
        self.full.append(record)
        batch = _sqlite_rows.Batch(KEY, [(record, None)], (), None, None, 10**9, frozenset())
        _sqlite_rows.append_batch(self.db, batch, lambda sid: None)

    def say(self, author: str, parts: list[types.Part], branch: str | None = None) -> None:
        role = "user" if author == "user" or parts[0].function_response else "model"
        self.add(author, branch, content=types.Content(role=role, parts=parts))

    def compact(self, start: float, end: float) -> None:
        words = types.Content(role="model", parts=[types.Part(text=f"sum {start} to {end}")])
        one = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=words)
        name = f"compaction{len(self.full)}"
        self.add("user", invocation_id=name, actions=EventActions(compaction=one))

    def play(self, step: tuple[Any, ...]) -> None:
        kind, *what = step
        if kind == "turn":
            agent, branch, calls = what
            self.turn += 1
            self.say("user", [types.Part(text=f"question {self.turn}")])
            for call in calls:
                self.say(agent, [called(call)], branch)
                self.say(agent, [answered(call)], branch)
            self.say(agent, [types.Part(text=f"answer {self.turn}")], branch)
        elif kind == "event":
            author, branch, parts = what
            self.say(self.choose_author(author, parts[0]), parts, branch)
        elif kind == "wait":
            agent, call = what
            content = types.Content(role="model", parts=[called(call)])
            self.add(agent, content=content, long_running_tool_ids={call})
            self.say(agent, [answered(call)])
        elif kind == "slide":
            window = find_window(visible_records(self.full), *what)
            if window:
                self.compact(window[0].timestamp, window[-1].timestamp)
        elif kind == "tokens":
            events = _find_old_events(self.full, what[0])
            if events:
                self.compact(events[0].timestamp, events[-1].timestamp)
        elif kind == "range":
            self.compact(float(min(what)), float(max(what)))
        elif kind == "rewind":
            name = f"inv{max(0, self.turn - what[0])}"
            self.add("user", actions=EventActions(rewind_before_invocation_id=name))
        elif kind == "resume":
            self.turn = max(0, self.turn - what[0])
        else:
            self.shift += what[0]

    def choose_author(self, author: str, part: types.Part) -> str:
        """Return the user for an agent's response to a call that its log may not have.

        An agent answers only what waits, and its log has that call.
        """
        response = part.function_response
        if response is None or author == "user":
            return author
        asking = [r for r in self.full.records if any(c == response.id for c, _ in r.calls)]
        loaded = {record.id for record in self.load()[1].records}
        return author if all(record.id in loaded for record in asking) else "user"

    def load(self) -> tuple[Loaded, EventLog]:
        loaded = _sqlite_rows.load_session(self.db, KEY, lambda sid: None, complete=False)
        assert loaded is not None
        records = [*loaded.summaries, *loaded.records]
        return loaded, EventLog(records, offset=loaded.revision - len(records))

    def check(self) -> int:
        """Compare what a run sees; return how many records it was spared."""
        loaded, part = self.load()
        assert loaded.revision == len(self.full)
        stored = {record.id: record for record in self.full.records}
        for record in part.records:
            assert record.data == stored[record.id].data
        for view in VIEWS:
            assert contents(part, view) == contents(self.full, view)
            start, other = (
                find_turn_start(log, view.branch, view.agent_name) for log in (part, self.full)
            )
            if other or start:
                assert part.records[start].id == self.full.records[other].id
            assert contents(part, view, start) == contents(self.full, view, other)
        if self.full.records:
            newest = next(
                (r for r in reversed(self.full.records) if not r.kinds & COMPACTION), None
            )
            name = newest.invocation_id if newest is not None else ""
            mine, theirs = open_calls(part, name), open_calls(self.full, name)
            assert [call.call_id for call in mine] == [call.call_id for call in theirs]
        return part.offset


def contents(log: EventLog, view: View, start: int = 0) -> list[Any]:
    entries = _history.make_entries(visible_records(log, start), view)
    return [e.content.model_dump(exclude_none=True) for e in arrangement.arrange_entries(entries)]


def called(call_id: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name="tool", args={}))


def answered(call_id: str) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=call_id, name="tool", response={"n": 1})
    )


@pytest.fixture
def story() -> Iterator[Story]:
    with closing(connect(SqliteFile(MEMORY, FORMAT))) as db:
        yield Story(db)


agents = st.sampled_from(("one", "two"))
branches = st.sampled_from((None, None, "top.one", "top.two", "top.one.in.deep"))
calls = st.sampled_from(("adk-1", "adk-2", "c3", "c4"))
small = st.integers(0, 4)
parts = st.one_of(
    st.builds(lambda n: [types.Part(text=f"words {n}")], small),
    st.builds(lambda call: [called(call)], calls),
    st.builds(lambda call: [answered(call)], calls),
    st.just([types.Part(text="hm", thought=True)]),
)
turns = st.tuples(st.just("turn"), agents, branches, st.lists(calls, max_size=2, unique=True))
slides = st.tuples(st.just("slide"), st.integers(1, 3), st.integers(0, 2))
steps = st.one_of(
    turns,
    turns,
    turns,
    slides,
    slides,
    st.tuples(st.just("tokens"), small),
    st.tuples(st.just("event"), st.sampled_from(("user", "one", "two")), branches, parts),
    st.tuples(st.just("wait"), agents, calls),
    st.tuples(st.just("event"), st.just("user"), branches, calls.map(lambda c: [answered(c)])),
    st.tuples(st.just("rewind"), small),
    st.tuples(st.just("range"), st.integers(0, 40), st.integers(0, 40)),
    st.tuples(st.just("resume"), st.integers(1, 3)),
    st.tuples(st.just("clock"), st.sampled_from((-5.0, 0.5, 3.0))),
)


@settings(max_examples=tries(80))
@example(  # a later invocation uses the id of an open call again
    script=[
        ("event", "user", None, [called("adk-1")]),
        ("turn", "one", None, ["adk-1"]),
        ("slide", 1, 0),
        ("resume", 1),
        ("event", "user", None, [types.Part(text="hm", thought=True)]),
    ]
)
@given(st.lists(steps, min_size=4, max_size=25))
def test_a_run_sees_the_same_in_a_partial_log(script: list[tuple[Any, ...]]) -> None:
    with closing(connect(SqliteFile(MEMORY, FORMAT))) as db:
        told = Story(db)
        for step in script:
            told.play(step)
            told.check()


realistic = st.one_of(turns, turns, slides, st.tuples(st.just("tokens"), small)) | st.tuples(
    st.just("rewind"), st.integers(0, 2)
)


@settings(max_examples=tries(60))
@given(st.lists(realistic, min_size=10, max_size=60))
def test_a_run_sees_the_same_through_many_compactions(script: list[tuple[Any, ...]]) -> None:
    with closing(connect(SqliteFile(MEMORY, FORMAT))) as db:
        told = Story(db)
        for step in script:
            told.play(step)
        told.check()


def test_sliding_windows_leave_their_summaries_and_the_tail(story: Story) -> None:
    for turn in range(12):
        story.play(("turn", "one", None, ["c3"]))
        if turn % 2:
            story.play(("slide", 2, 1))
    spared = story.check()
    loaded, part = story.load()
    assert len(loaded.summaries) == 5  # the sixth lies in the tail
    assert [r.invocation_id for r in loaded.records] == ["inv12"] * 4 + ["compaction53"]
    assert spared == len(story.full) - 10
    assert part.offset + len(part) == loaded.revision == 54


def test_a_summary_of_everything_before_takes_the_place_of_the_earlier(story: Story) -> None:
    for turn in range(12):
        story.play(("turn", "one", None, []))
        if turn % 4 == 3:
            story.play(("tokens", 2))
    story.check()
    loaded, _ = story.load()
    kinds = [bool(record.kinds & COMPACTION) for record in loaded.records]
    # The summary needs a record before what is seen, and no invocation is cut.
    assert (loaded.summaries, kinds) == ([], [False] * 4 + [True])
    story.play(("turn", "one", None, []))
    story.play(("tokens", 0))
    story.play(("turn", "one", None, []))
    story.check()
    loaded, _ = story.load()
    assert len(loaded.summaries) + len(loaded.records) <= 8


def test_a_rewind_that_reaches_back_brings_the_complete_log(story: Story) -> None:
    for turn in range(6):
        story.play(("turn", "one", None, []))
        if turn % 2:
            story.play(("slide", 2, 0))
    assert story.check() > 0
    story.play(("rewind", 4))
    assert story.check() == 0
    story.play(("turn", "one", None, []))
    story.play(("slide", 1, 0))
    assert story.check() > 0


def test_a_rewind_within_the_tail_leaves_it(story: Story) -> None:
    for _ in range(4):
        story.play(("turn", "one", None, []))
    story.play(("slide", 2, 0))
    story.play(("turn", "one", None, []))
    spared = story.check()
    story.play(("rewind", 0))
    assert story.check() == spared > 0


def test_a_call_that_waits_keeps_its_invocation(story: Story) -> None:
    story.play(("turn", "one", None, []))
    story.play(("turn", "one", None, []))
    story.play(("wait", "one", "c3"))
    for _ in range(4):
        story.play(("turn", "one", None, []))
    story.play(("slide", 3, 0))
    story.check()
    loaded, part = story.load()
    assert part.find_call("c3") is not None
    assert loaded.first <= 3
    story.say("user", [answered("c3")])
    story.play(("turn", "one", None, []))
    story.play(("slide", 1, 0))
    story.check()
    assert story.load()[1].find_call("c3") is None


def test_nothing_is_left_out_without_a_compaction(story: Story) -> None:
    for _ in range(5):
        story.play(("turn", "one", None, []))
    story.play(("rewind", 2))
    assert story.check() == 0


def test_a_rewind_that_hides_the_summary_brings_the_complete_log(story: Story) -> None:
    for _ in range(4):
        story.play(("turn", "one", None, []))
    story.play(("slide", 2, 0))
    assert story.check() > 0
    story.play(("rewind", 0))
    assert story.check() == 0


def test_a_tail_does_not_move_over_times_that_fall(story: Story) -> None:
    for turn in range(6):
        story.play(("turn", "one", None, []))
        if turn == 2:
            story.play(("clock", -3.5))
    story.play(("slide", 2, 0))
    assert story.check() == 0


def test_a_rewound_stretch_is_not_cut(story: Story) -> None:
    for _ in range(4):
        story.play(("turn", "one", None, []))
    story.play(("rewind", 0))
    story.turn += 1
    story.play(("event", "one", None, [types.Part(text="alone")]))
    story.play(("range", 0, 5))
    story.check()


def test_the_turn_that_answers_a_call_began_earlier(story: Story) -> None:
    for _ in range(3):
        story.play(("turn", "one", None, []))
    story.play(("wait", "one", "c3"))
    story.turn += 1
    story.say("user", [answered("c3")])
    story.say("one", [types.Part(text="thanks")])
    story.play(("slide", 1, 0))
    story.check()
    assert any("question 3" in record.data for record in story.load()[1].records)
