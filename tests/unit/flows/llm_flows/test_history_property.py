"""A projection that is extended event by event equals one that is built from scratch, whatever
happened in between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostinato import types
from ostinato.events import Event, EventActions
from ostinato.events.event_actions import EventCompaction
from ostinato.flows.llm_flows.history import arrangement, visibility
from ostinato.flows.llm_flows.history import projection as _history
from ostinato.flows.llm_flows.history.projection import Projection
from ostinato.flows.llm_flows.history.visibility import View
from ostinato.sessions.log.event_log import EventLog, EventRecord
from tests.support.tries import tries

AUTHORS = ("user", "one", "two")
BRANCHES = (None, None, "top.one", "top.two", "top.one.in.deep")
CALLS = ("adk-1", "adk-2", "c3", "c4")
VIEWS = [
    View("one"),
    View("two"),
    View(""),
    View("one", "top.one"),
    View("two", "top.one.in.deep"),
    View("one", None, keep_ids=True),
    View("one", None, quote=True),
    View("one", None, is_nested=True),
]


def text(words: str, thought: bool = False) -> types.Part:
    return types.Part(text=words, thought=thought or None)


def called(call_id: str, name: str = "tool") -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args={"id": call_id}))


def answered(call_id: str, n: int, name: str = "tool") -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=call_id, name=name, response={"n": n})
    )


authors, branches, calls = map(st.sampled_from, (AUTHORS, BRANCHES, CALLS))
numbers = st.integers(0, 9)
reserved = st.sampled_from(sorted(visibility.RESERVED_CALLS))

said = st.builds(lambda a, b, n: ("said", a, b, [text(f"words {n}")]), authors, branches, numbers)
thoughts = st.builds(
    lambda a, b, n, both: (
        "said",
        a,
        b,
        [text("hm", thought=True), *([text(f"aloud {n}")] if both else [])],
    ),
    authors,
    branches,
    numbers,
    st.booleans(),
)
empty = st.builds(
    lambda a, b, parts: ("said", a, b, parts),
    authors,
    branches,
    st.sampled_from([[], [types.Part()], [text("")], None]),
)
calling = st.builds(
    lambda a, b, ids, words: (
        "said",
        a,
        b,
        [*([text("Let me see.")] if words else []), *map(called, ids)],
    ),
    st.sampled_from(("one", "two")),
    branches,
    st.lists(calls, min_size=1, max_size=2, unique=True),
    st.booleans(),
)
answering = st.builds(
    lambda a, b, ids, n, words: (
        "said",
        a,
        b,
        [*(answered(i, n) for i in ids), *([text("there")] if words else [])],
    ),
    authors,
    branches,
    st.lists(calls, min_size=1, max_size=2, unique=True),
    numbers,
    st.booleans(),
)
exchange = st.builds(
    lambda a, b, i, n: ("pair", a, b, [called(i)], [answered(i, n)]),
    st.sampled_from(("one", "two")),
    branches,
    calls,
    numbers,
)
internal = st.builds(
    lambda a, b, name, i, back: (
        "said",
        a,
        b,
        [answered(i, 1, name) if back else called(i, name)],
    ),
    authors,
    branches,
    reserved,
    calls,
    st.booleans(),
)
heard = st.builds(
    lambda a, side, n: ("heard", a, side, f"piece {n} "),
    authors,
    st.sampled_from(("input_transcription", "output_transcription")),
    numbers,
)
rewound = st.builds(lambda n: ("rewind", n), numbers)
compacted = st.builds(
    lambda a, b: ("compaction", min(a, b), max(a, b)), st.integers(0, 14), st.integers(0, 14)
)
steps = st.lists(
    st.one_of(said, said, exchange, exchange, calling, answering, thoughts, empty, internal)
    | st.one_of(heard, rewound, compacted, answering),
    max_size=14,
)


def records_of(script: list[Any]) -> list[EventRecord]:
    """Turn a script into records; a new invocation begins every third event."""
    records: list[EventRecord] = []

    def add(author: str, branch: str | None = None, **fields: Any) -> None:
        n = len(records)
        event = Event(
            invocation_id=f"inv{n // 3}", author=author, branch=branch, timestamp=float(n), **fields
        )
        records.append(EventRecord.of(event))

    def content(author: str, parts: Any) -> types.Content | None:
        role = "user" if author == "user" else "model"
        return None if parts is None else types.Content(role=role, parts=parts)

    for kind, *what in script:
        if kind == "said":
            author, branch, parts = what
            add(author, branch, content=content(author, parts))
        elif kind == "pair":
            author, branch, asked, given_back = what
            add(author, branch, content=content(author, asked))
            add(author, branch, content=types.Content(role="user", parts=given_back))
        elif kind == "heard":
            author, side, words = what
            heard: dict[str, Any] = {side: types.Transcription(text=words)}
            add(author, **heard)
        elif kind == "rewind":
            actions = EventActions(rewind_before_invocation_id=f"inv{what[0]}")
            add("user", actions=actions)
        else:
            # A summary stands for what has happened, never for what is to come.
            start, end = (min(index, len(records) - 1) for index in what)
            summary = types.Content(role="model", parts=[text(f"summary {start} to {end}")])
            compaction = EventCompaction(
                start_timestamp=start, end_timestamp=end, compacted_content=summary
            )
            add("user", actions=EventActions(compaction=compaction))
    return records


def dumped(contents: list[types.Content]) -> list[Any]:
    return [c.model_dump(exclude_none=True) for c in contents]


def from_scratch(log: EventLog, view: View) -> list[Any]:
    entries = _history.make_entries(_history.visible_records(log), view)
    return dumped(arrangement.close_calls(arrangement.arrange_entries(entries), view.is_nested))


@pytest.mark.spec(100, 101, 103, 104, 105, 106, 107, 108, 109, 110)
@settings(max_examples=tries(300))
@given(steps)
@example([("pair", "one", None, [called("c3")], [answered("c3", 1)]), ("rewind", 0)])
@example(
    [
        ("pair", "one", None, [called("c4")], [answered("c4", 0)]),
        ("said", "one", None, [called("c4")]),
        ("compaction", 1, 2),
        ("said", "user", None, [answered("c4", 0)]),
    ]
)
def test_an_extended_projection_equals_a_rebuilt_one_at_every_prefix(script: list[Any]) -> None:
    records = records_of(script)
    kept = [Projection(view) for view in VIEWS]
    log = EventLog()
    for at, record in enumerate(records):
        log.append(record)
        for projection in kept:
            extended = dumped(projection.update(log))
            rebuilt = from_scratch(EventLog(records[: at + 1]), projection.view)
            assert extended == rebuilt, (at, projection.view)


@settings(max_examples=tries(100))
@given(steps, st.lists(st.booleans(), min_size=14, max_size=40))
def test_a_projection_may_miss_some_updates(script: list[Any], asked: list[bool]) -> None:
    records = records_of(script)
    projection, log = Projection(VIEWS[0]), EventLog()
    for at, record in enumerate(records):
        log.append(record)
        if asked[at % len(asked)]:
            got = dumped(projection.update(log))
            assert got == from_scratch(EventLog(records[: at + 1]), VIEWS[0])


@pytest.mark.spec(109)
@settings(max_examples=tries(400))
@given(steps)
def test_a_response_in_a_request_always_stands_behind_its_call(script: list[Any]) -> None:
    log = EventLog(records_of(script))
    contents = Projection(View("one", keep_ids=True)).update(log)
    before: set[str | None] = set()
    for content in contents:
        parts = content.parts or []
        given_back = {p.function_response.id for p in parts if p.function_response}
        assert given_back <= before
        before = {p.function_call.id for p in parts if p.function_call}


@pytest.mark.parametrize("is_nested", [False, True])
@settings(max_examples=tries(200))
@given(script=steps)
def test_every_call_in_a_request_has_one_response_right_behind_it(
    is_nested: bool, script: list[Any]
) -> None:
    log, projection = EventLog(), Projection(View("one", keep_ids=True, is_nested=is_nested))
    for record in records_of(script):
        log.append(record)
        asked: list[str | None] = []
        for content in projection.update(log):
            parts = content.parts or []
            given_back = [p.function_response.id for p in parts if p.function_response]
            assert sorted(map(str, given_back)) == sorted(map(str, asked))
            asked = [p.function_call.id for p in parts if p.function_call]
        assert asked == []


@pytest.mark.spec(111)
@settings(max_examples=tries(60))
@given(steps)
def test_editing_a_request_s_contents_does_not_reach_the_log(script: list[Any]) -> None:
    log = EventLog(records_of(script))
    stored = [record.data for record in log.records]
    before = from_scratch(log, VIEWS[0])
    for content in Projection(VIEWS[0]).update(log):
        content.role = "edited"
        for part in content.parts or []:
            part.text = "edited"
            if part.function_call and part.function_call.args:
                part.function_call.args["edited"] = True
    assert [record.data for record in log.records] == stored
    assert from_scratch(log, VIEWS[0]) == before


# Logs with calls that wait while the history is compacted.

_LATE_VIEWS = [View("one", keep_ids=True), View("one", None, keep_ids=True, is_nested=True)]


class _WaitingLog:
    """A log of calls with ids of their own, their answers in any order, and compactions."""

    def __init__(self, script: list[Any]) -> None:
        self.records: list[EventRecord] = []
        self.asked: list[list[str]] = []
        self.answers: dict[str, int] = {}
        self.covered_until = -1
        for step in script:
            getattr(self, step[0])(*step[1:])
        self.say()  # the user speaks last, so that nothing is dropped for a latest response

    def _add(self, author: str, parts: list[types.Part], **fields: Any) -> None:
        n = len(self.records)
        content = types.Content(role="user" if author == "user" else "model", parts=parts or None)
        event = Event(
            author=author, invocation_id=f"inv{n}", timestamp=float(n), content=content, **fields
        )
        self.records.append(EventRecord.of(event))

    def say(self) -> None:
        self._add("user", [text(f"words {len(self.records)}")])

    def ask(self, count: int) -> None:
        ids = [f"c{len(self.records)}-{at}" for at in range(count)]
        self.asked.append(ids)
        self._add("one", [called(one) for one in ids])

    def answer(self, which: int, chosen: int, author: str) -> None:
        if self.asked:
            ids = self.asked[which % len(self.asked)]
            given = [one for at, one in enumerate(ids) if chosen & 1 << at] or ids
            self.answers |= dict.fromkeys(given, len(self.records))
            self._add(author, [answered(one, len(self.records)) for one in given])

    def compact(self, start: int, length: int) -> None:
        if self.records:
            end = len(self.records) - 1
            first = min(start, end) if length else 0
            summary = types.Content(role="model", parts=[text(f"summary {end}")])
            compaction = EventCompaction(
                start_timestamp=first, end_timestamp=end, compacted_content=summary
            )
            self.covered_until = end
            self._add("user", [], actions=EventActions(compaction=compaction))

    def late_answers(self) -> dict[str, int]:
        """Return the newest answers behind the last summary by their calls."""
        return {call: at for call, at in self.answers.items() if at > self.covered_until}


_waiting_steps = st.lists(
    st.one_of(
        st.tuples(st.just("say")),
        st.tuples(st.just("ask"), st.integers(1, 3)),
        st.tuples(
            st.just("answer"),
            st.integers(0, 9),
            st.integers(1, 7),
            st.sampled_from(("user", "one")),
        ),
        st.tuples(st.just("compact"), st.integers(0, 20), st.integers(0, 3)),
    ),
    max_size=20,
)


@pytest.mark.spec(105, 109)
@settings(max_examples=tries(120))
@given(_waiting_steps)
@example([("ask", 1), ("compact", 0, 0), ("answer", 0, 1, "user")])
@example([("ask", 2), ("answer", 0, 1, "one"), ("compact", 0, 0), ("answer", 0, 2, "one")])
def test_an_answer_behind_a_summary_is_shown_once_with_its_call(script: list[Any]) -> None:
    story = _WaitingLog(script)
    for view in _LATE_VIEWS:
        projection, log = Projection(view), EventLog()
        for at, record in enumerate(story.records):
            log.append(record)
            assert dumped(projection.update(log)) == from_scratch(
                EventLog(story.records[: at + 1]), view
            )
        shown_calls: list[str | None] = []
        shown: dict[str | None, Any] = {}
        before: list[str | None] = []
        for content in projection.contents:
            parts = content.parts or []
            given_back = [p.function_response for p in parts if p.function_response]
            assert sorted(str(r.id) for r in given_back) == sorted(map(str, before))
            shown |= {r.id: (r.response or {}).get("n") for r in given_back}
            before = [p.function_call.id for p in parts if p.function_call]
            shown_calls += before
        assert len(shown_calls) == len(set(shown_calls))
        for call, number in story.late_answers().items():
            assert shown.get(call) == number
        words = [p.text for c in projection.contents for p in c.parts or [] if p.text]
        assert len(set(words) - {"For context:"}) == len([w for w in words if w != "For context:"])


@settings(max_examples=tries(200))
@given(_waiting_steps)
def test_the_answer_that_ends_a_log_is_in_the_request(script: list[Any]) -> None:
    story = _WaitingLog(script)
    records = story.records[:-1]
    if not records or not records[-1].responses:
        return
    contents = Projection(_LATE_VIEWS[0]).update(EventLog(records))
    ended = {p.function_response.id for p in contents[-1].parts or [] if p.function_response}
    assert {call for call, _ in records[-1].responses} <= ended


@pytest.mark.spec(108)
def test_an_earlier_late_answer_stays_when_another_ends_the_log() -> None:
    script = [("ask", 1), ("ask", 1), ("say",), ("answer", 0, 1, "user"), ("answer", 1, 1, "user")]
    records = _WaitingLog(script).records[:-1]
    contents = Projection(_LATE_VIEWS[0]).update(EventLog(records))
    given_back = [p.function_response for c in contents for p in c.parts or []]
    assert [r.response for r in given_back if r] == [{"n": 3}, {"n": 4}]


def test_another_agent_sees_the_call_of_a_late_answer_quoted() -> None:
    script = [("ask", 1), ("compact", 0, 0), ("answer", 0, 1, "user")]
    contents = Projection(View("two")).update(EventLog(_WaitingLog(script).records[:-1]))
    words = [p.text or "" for c in contents for p in c.parts or [] if p.text != "For context:"]
    assert [w.split("with")[0].split(":")[0] for w in words] == [
        "[model] said",
        "[one] called tool `tool` ",
        "[user] `tool` tool returned result",
    ]


def test_a_scope_keeps_what_a_summary_of_the_conversation_covers() -> None:
    def event(n: int, **fields: Any) -> EventRecord:
        return EventRecord.of(Event(invocation_id="inv", timestamp=float(n), **fields))

    words = types.Content(role="model", parts=[text("summary")])
    compaction = EventCompaction(start_timestamp=0, end_timestamp=3, compacted_content=words)
    log = EventLog(
        [
            event(0, author="user", content=types.Content(role="user", parts=[text("go")])),
            event(
                1,
                author="one",
                isolation_scope="task",
                content=types.Content(role="model", parts=[called("c3")]),
            ),
            event(3, author="user", content=types.Content(role="user", parts=[text("and?")])),
            event(4, author="user", actions=EventActions(compaction=compaction)),
            event(
                5,
                author="user",
                isolation_scope="task",
                content=types.Content(role="user", parts=[answered("c3", 1)]),
            ),
        ]
    )
    contents = Projection(View("one", scope="task", keep_ids=True)).update(log)
    assert dumped(contents) == dumped(
        [
            types.Content(role="model", parts=[called("c3")]),
            types.Content(role="user", parts=[answered("c3", 1)]),
        ]
    )
