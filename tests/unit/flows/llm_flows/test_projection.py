"""The contents that a run sends: who shares them, when they are laid out anew, and the corners of
how records become contents."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event, EventActions, EventCompaction
from ostinato.flows.llm_flows import contents
from ostinato.flows.llm_flows.history import arrangement, visibility
from ostinato.flows.llm_flows.history import projection as _history
from ostinato.flows.llm_flows.history.arrangement import PENDING, ContentEntry
from ostinato.flows.llm_flows.history.projection import Projection
from ostinato.flows.llm_flows.history.visibility import View
from ostinato.models.llm_request import LlmRequest
from ostinato.plugins import PluginManager
from ostinato.sessions import InMemorySessionService, Session
from ostinato.sessions.log.event_log import EventLog, EventRecord, newest_visible
from ostinato.testing import ScriptedModel


async def edit_contents(ctx: InvocationContext, request: LlmRequest) -> None:
    """Let the contents processor edit a request."""
    pending = contents.request_processor.edit(ctx, request)
    if pending is not None:
        await pending


def content(role: str, *parts: Any) -> types.Content:
    made = [types.Part(text=p) if isinstance(p, str) else p for p in parts]
    return types.Content(role=role, parts=made)


def says(author: str, *parts: Any, **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, content=content(role, *parts), **fields)


def fc(call_id: str | None, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name="do", args=args))


def fr(call_id: str | None, **response: Any) -> types.Part:
    made = types.FunctionResponse(id=call_id, name="do", response=response)
    return types.Part(function_response=made)


def gives(*parts: Any, author: str = "me", **fields: Any) -> Event:
    return Event(author=author, content=content("user", *parts), **fields)


def waits(call_id: str | None) -> types.Content:
    return content("user", fr(call_id, **PENDING))


def log_of(*events: Event) -> EventLog:
    return EventLog(EventRecord.of(event) for event in events)


def run_of(*events: Event, branch: str | None = None, **config: Any) -> InvocationContext:
    session = Session(id="s", app_name="app", user_id="user")
    session.events = list(events)
    return InvocationContext(
        session_service=InMemorySessionService(),
        invocation_id="e-1",
        agent=LlmAgent(name="me", model=ScriptedModel()),
        session=session,
        run_config=RunConfig(**config),
        branch=branch,
        plugin_manager=PluginManager([]),
    )


# Sharing


@pytest.mark.spec(93, 111)
async def test_contents_are_shared_by_requests_unless_copies_are_asked_for() -> None:
    async def sent(ctx: InvocationContext) -> list[types.Content]:
        request = LlmRequest()
        await edit_contents(ctx, request)
        return request.contents

    def looks(callback_context: Any, llm_request: Any) -> None:
        """Sees the request."""

    shared = run_of(says("user", "Hi"))
    first, second = await sent(shared), await sent(shared)
    assert first is not second and first[0] is second[0]
    copying = run_of(says("user", "Hi"), copy_contents=True)
    first, second = await sent(copying), await sent(copying)
    assert first[0] is not second[0] and first == second
    shown = run_of(says("user", "Hi"))
    shown.agent.before_model_callback = looks
    assert (await sent(shown))[0] is not (await sent(shown))[0]
    without = shared.model_copy(update={"run_config": None})
    assert (await sent(without))[0] is (await sent(without))[0]


@pytest.mark.spec(107)
async def test_quotes_are_marked_where_the_config_says_so() -> None:
    events = (
        says("other", "Hello"),
        says("other", fc("c", a=1)),
        gives(fr("c", n=1), author="other"),
    )

    def texts(**config: Any) -> list[str | None]:
        found = contents.build_contents(run_of(*events, **config))
        return [part.text for one in found for part in one.parts or ()]

    plain = [
        "[other] said: Hello",
        "[other] called tool `do` with parameters: {'a': 1}",
        "[other] `do` tool returned result: {'n': 1}",
    ]
    marked = [f"<quoted-agent-output untrusted>\n{text}\n</quoted-agent-output>" for text in plain]
    head = "For context:"
    assert texts() == [head, plain[0], head, plain[1], head, plain[2]]
    assert texts(quote_agents=True) == [head, marked[0], head, marked[1], head, marked[2]]


@pytest.mark.spec(111)
def test_ids_made_here_are_stripped_unless_they_are_to_be_kept() -> None:
    ctx = run_of(says("me", fc("adk-1")), gives(fr("adk-1")))

    def ids(**options: Any) -> list[Any]:
        found = contents.build_contents(ctx, **options)
        parts = [part for one in found for part in one.parts or ()]
        return [(p.function_call or p.function_response).id for p in parts]  # type: ignore[union-attr]

    assert ids() == [None, None]
    assert ids(keep_ids=True) == ["adk-1", "adk-1"]
    assert ids() == [None, None]


@pytest.mark.spec(112)
def test_a_run_without_history_starts_at_the_turn_of_its_branch() -> None:
    events = (
        says("user", "Old"),
        says("user", "New"),
        says("me", fc("c")),
        gives(fr("c")),
        says("other", "Elsewhere", branch="top.other"),
    )
    ctx = run_of(*events, branch="top.me")
    ctx.agent.include_contents = "none"
    assert contents.build_contents(ctx)[0] == content("user", "New")
    ctx.agent.include_contents = "default"
    assert contents.build_contents(ctx) == [
        content("user", "Old"),
        content("user", "New"),
        content("model", fc("c")),
        content("user", fr("c")),
    ]


@pytest.mark.spec(112)
def test_a_turn_starts_behind_neither_an_own_message_nor_an_answer() -> None:
    log = log_of(says("user", "Hi"), says("me", fc("c")), gives(fr("c"), author="user"))
    assert contents.find_turn_start(log, None, "me") == 0
    assert contents.find_turn_start(log_of(says("other", "Hi")), None, "me") == 0
    log = log_of(says("me", "1"), says("other", "2"), says("me", "3"))
    assert contents.find_turn_start(log, None, "me") == 1
    assert contents.find_turn_start(log_of(says("me", "1"), says("me", "2")), None, "me") == 0
    assert contents.find_turn_start(EventLog(), None, "me") == 0


@pytest.mark.spec(93)
async def test_instruction_contents_stand_before_the_user_contents_at_the_end() -> None:
    extra = content("user", "Look at this.")

    async def sent(*events: Event) -> list[types.Content]:
        request = LlmRequest(contents=[extra])
        await edit_contents(run_of(*events), request)
        return request.contents

    hi, hello, more = content("user", "Hi"), content("model", "Hello"), content("user", "More")
    assert await sent() == [extra]
    assert await sent(says("user", "Hi")) == [extra, hi]
    assert await sent(says("user", "Hi"), says("me", "Hello")) == [hi, hello, extra]
    assert await sent(
        says("user", "Hi"), says("me", "Hello"), says("user", "More"), says("user", "Hi")
    ) == [hi, hello, extra, more, hi]
    asked = [says("user", "Hi"), says("me", fc("c")), gives(fr("c"))]
    assert (await sent(*asked))[-1] == extra


# Extending


def is_interim(given: types.Content) -> bool:
    return any(
        p.function_response is not None and p.function_response.response == PENDING
        for p in given.parts or ()
    )


@pytest.mark.spec(111)
def test_a_projection_is_extended_and_keeps_the_contents_it_has() -> None:
    log, projection = log_of(says("user", "Hi")), Projection(View("me"))
    kept = list(projection.update(log))
    following = (
        says("me", fc("a"), fc("b")),
        gives(fr("a"), fr("b")),
        says("me", types.Part(text="hm", thought=True)),
        says("other", "Elsewhere", branch="x"),
        says("me", "Done"),
        says("me", fc("c"), fc("d")),
        gives(fr("c")),
    )
    for event in following:
        log.append(EventRecord.of(event))
        now = projection.update(log)
        if is_interim(kept[-1]):  # the response takes its place
            kept.pop()
        assert all(old is new for old, new in zip(kept, now, strict=False))
        assert len(now) >= len(kept) and projection.cursor == len(log.records)
        kept = list(now)
    assert kept == Projection(View("me")).update(log)


def test_an_open_call_has_an_interim_response_that_stays_until_the_real_one_comes() -> None:
    log, projection = log_of(says("user", "Hi")), Projection(View("me"))
    log.append(EventRecord.of(says("me", fc("a"), fc("b"))))
    first = list(projection.update(log))
    assert first[2:] == [content("user", fr("a", **PENDING), fr("b", **PENDING))]
    log.append(EventRecord.of(gives(fr("b", n=2))))
    second = list(projection.update(log))
    assert second[2:] == [content("user", fr("a", **PENDING), fr("b", n=2))]
    log.append(EventRecord.of(says("user", "And?")))
    third = list(projection.update(log))
    assert all(old is new for old, new in zip(second, third, strict=False)) and len(third) == 4
    assert list(projection.update(log)) == third
    log.append(EventRecord.of(gives(fr("a", n=1), author="user")))
    assert projection.update(log)[2:] == [content("user", fr("b", n=2), fr("a", n=1))]
    log.append(EventRecord.of(says("me", "So")))
    assert projection.update(log)[3:] == [content("user", "And?"), content("model", "So")]


def test_words_beside_the_response_to_another_call_come_after_the_interim_response() -> None:
    log = log_of(says("me", fc("a"), fc("b")), gives(fr("b"), types.Part(text="there")))
    given = content("user", fr("a", **PENDING), fr("b"), "there")
    assert Projection(View("me")).update(log)[1:] == [given]


def test_a_nested_run_does_not_see_open_calls() -> None:
    view = View("me", is_nested=True)
    log, projection = log_of(says("me", "Wait", fc("a"))), Projection(view)
    assert projection.update(log) == [content("model", "Wait")]
    log.append(EventRecord.of(gives(fr("a"))))
    log.append(EventRecord.of(says("me", fc("b"), fc("c"))))
    assert projection.update(log)[1:] == [content("user", fr("a"))]
    log.append(EventRecord.of(gives(fr("c"))))
    half = [content("model", fc("c")), content("user", fr("c"))]
    assert projection.update(log)[2:] == half
    log.append(EventRecord.of(says("user", "And?")))
    assert projection.update(log)[2:] == [*half, content("user", "And?")]
    assert Projection(view).update(log) == projection.update(log)


@pytest.mark.spec(109)
def test_a_projection_is_laid_out_anew_and_then_extended_again() -> None:
    log, projection = log_of(says("me", fc("a"))), Projection(View("me"))
    for event in (says("user", "Meanwhile"), gives(fr("a", n=1)), says("me", "So")):
        log.append(EventRecord.of(event))
        projection.update(log)
    laid_out = list(projection.update(log))
    assert laid_out == [
        content("model", fc("a")),
        content("user", fr("a", n=1)),
        content("user", "Meanwhile"),
        content("model", "So"),
    ]
    log.append(EventRecord.of(says("me", fc("b"))))
    log.append(EventRecord.of(gives(fr("b"))))
    now = projection.update(log)
    assert all(old is new for old, new in zip(laid_out, now, strict=False)) and len(now) == 6


@pytest.mark.spec(112)
def test_a_projection_that_starts_late_stays_so_when_it_is_laid_out_anew() -> None:
    log = log_of(says("user", "Old"), says("user", "New"), says("me", fc("a")), says("me", "Wait"))
    projection = Projection(View("me"), 1)
    assert projection.update(log)[0] == content("user", "New")
    log.append(EventRecord.of(gives(fr("a"))))
    assert projection.update(log) == [
        content("user", "New"),
        content("model", fc("a")),
        content("user", fr("a")),
    ]
    assert Projection(View("me"), 1).contents == []


@pytest.mark.spec(107)
def test_an_answer_to_another_s_call_is_quoted_however_the_log_was_read() -> None:
    events = (says("other", fc("a")), gives(fr("a", n=1), author="user"), says("me", fc("b")))
    log, extended = EventLog(), Projection(View("me"))
    for event in events:
        log.append(EventRecord.of(event))
        extended.update(log)
    told = "[user] `do` tool returned result: {'n': 1}"
    assert extended.update(log)[1] == content("user", "For context:", told)
    assert Projection(View("me")).update(log) == extended.update(log)


# Rewinds and branches


def rewind(to: str) -> Event:
    actions = EventActions(rewind_before_invocation_id=to)
    return Event(author="user", invocation_id="r", actions=actions)


@pytest.mark.spec(100)
def test_what_no_rewind_hides_is_read_newest_first_and_only_from_the_start() -> None:
    events = [says("user", str(n), invocation_id=f"e-{n}") for n in range(3)]
    log = log_of(*events, rewind("e-2"))
    assert [r.invocation_id for r in newest_visible(log)] == ["e-1", "e-0"]
    assert [r.invocation_id for r in _history.visible_records(log, 1)] == ["e-1"]
    assert [r.invocation_id for r in _history.visible_records(log)] == ["e-0", "e-1"]
    assert list(newest_visible(EventLog())) == []
    own = EventActions(rewind_before_invocation_id="r")
    log = log_of(events[0], Event(author="user", invocation_id="r", actions=own))
    assert [r.invocation_id for r in newest_visible(log)] == ["e-0"]


@pytest.mark.spec(103)
def test_a_branch_sees_itself_and_what_is_above_it() -> None:
    assert visibility.belongs_to_branch("a.b", "a") and visibility.belongs_to_branch("a", "a")
    assert not visibility.belongs_to_branch("ab", "a")
    assert not visibility.belongs_to_branch("a", "a.b")
    assert visibility.belongs_to_branch("", "a") and visibility.belongs_to_branch("a", "")


# Summaries


def at(time: float, event: Event) -> Event:
    event.timestamp = time
    return event


def summary(start: float, end: float, *parts: Any, time: float = 100.0) -> Event:
    compaction = EventCompaction(
        start_timestamp=start, end_timestamp=end, compacted_content=content("model", *parts)
    )
    return at(time, Event(author="user", actions=EventActions(compaction=compaction)))


def told(*events: Event, agent: str = "me") -> list[str]:
    found = contents._get_contents(None, list(events), agent)
    return [" ".join(p.text or "" for p in one.parts or ()) for one in found]


def words(*numbers: int) -> list[Event]:
    return [at(float(n), says("user", str(n))) for n in numbers]


def brief(text: str) -> str:
    return f"For context: [model] said: {text}"


@pytest.mark.spec(105)
def test_both_ends_of_a_range_are_covered_and_nothing_beyond_them() -> None:
    found = told(*words(1, 2, 3, 4, 5), summary(2.0, 4.0, "S"))
    assert found == ["1", brief("S"), "5"]


@pytest.mark.spec(105)
def test_ranges_that_overlap_both_stand_each_behind_the_last_it_covers() -> None:
    log = [*words(1, 2, 3, 4, 5, 6), summary(1.0, 3.0, "A"), summary(3.0, 5.0, "B")]
    assert told(*log) == [brief("A"), brief("B"), "6"]


@pytest.mark.spec(105)
def test_of_equal_ranges_the_later_counts_and_of_nested_ones_the_wider() -> None:
    assert told(*words(1, 2, 3), summary(1.0, 2.0, "A"), summary(1.0, 2.0, "B")) == [
        brief("B"),
        "3",
    ]
    for pair in (
        (summary(1.0, 3.0, "W"), summary(1.0, 2.0, "N")),
        (summary(1.0, 3.0, "W"), summary(2.0, 3.0, "N")),
    ):
        assert told(*words(1, 2, 3, 4), *pair) == [brief("W"), "4"]
        assert told(*words(1, 2, 3, 4), *reversed(pair)) == [brief("W"), "4"]


@pytest.mark.spec(105)
def test_a_summary_that_covers_nothing_stands_first_and_one_without_text_is_left_out() -> None:
    assert told(*words(5, 6), summary(1.0, 2.0, "S")) == ["5", brief("S"), "6"]
    thought = types.Part(text="hm", thought=True)
    assert told(*words(1, 2), summary(1.0, 1.0, thought)) == ["2"]


@pytest.mark.spec(105)
def test_a_record_s_own_author_sees_a_summary_as_context_too() -> None:
    assert told(*words(1), summary(1.0, 1.0, "S"), agent="model") == [brief("S")]


# Transcriptions


def heard(words: str | None = None, said: str | None = None) -> Event:
    made: dict[str, Any] = {}
    if words is not None:
        made["input_transcription"] = types.Transcription(text=words)
    if said is not None:
        made["output_transcription"] = types.Transcription(text=said)
    return Event(author="me", **made)


@pytest.mark.spec(106)
def test_transcriptions_become_contents_of_their_speaker() -> None:
    found = contents._get_contents(None, [heard("a"), heard("b"), heard(said="c"), heard("")], "me")
    assert found == [content("user", "ab"), content("model", "c")]
    found = contents._get_contents(None, [heard("a", "b")], "me")
    assert found == [content("user", "a")]
    found = contents._get_contents(None, [says("user", "Hi"), heard("a")], "me")
    assert found == [content("user", "Hi"), content("user", "a")]


# Quotes and ids


@pytest.mark.spec(107)
def test_a_quote_leaves_out_thoughts_and_blank_text_and_keeps_what_is_no_text() -> None:
    blob = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    thought = types.Part(text="hm", thought=True)
    quoted = visibility.quote_other_agent(content("model", thought, "  ", blob, "Hi"), "other")
    assert quoted == content("user", "For context:", blob, "[other] said: Hi")
    assert visibility.quote_other_agent(content("model", thought, " "), "other") is None
    assert visibility.quote_other_agent(types.Content(role="model"), "other") is None


@pytest.mark.spec(111)
def test_only_ids_made_here_are_stripped() -> None:
    given = content("model", "Hi", fc("adk-1"), fc("own"), fc("not-adk-1"), fr("adk-2"), fc(None))
    visibility.strip_client_ids(given)
    holders = [p.function_call or p.function_response for p in given.parts or ()]
    assert [h.id for h in holders if h is not None] == [None, "own", "not-adk-1", None, None]
    visibility.strip_client_ids(types.Content(role="user"))


# Pairing


def entry(*parts: Any, role: str = "model") -> ContentEntry:
    made = content(role, *parts)
    return ContentEntry(
        made,
        frozenset(p.function_call.id for p in made.parts or () if p.function_call),
        frozenset(p.function_response.id for p in made.parts or () if p.function_response),
    )


def shown(entries: list[ContentEntry]) -> list[types.Content]:
    return [one.content for one in entries]


@pytest.mark.spec(108)
def test_a_late_response_brings_the_earlier_ones_of_its_group_with_it() -> None:
    group = entry(fc("a"), fc("b"))
    early, late = entry(fr("a", n=1), role="user"), entry(fr("b", n=2), role="user")
    between = entry("Meanwhile")
    found = arrangement.place_latest_response([entry("Hi"), group, early, between, late])
    assert shown(found) == [
        content("model", "Hi"),
        group.content,
        content("user", fr("a", n=1), fr("b", n=2)),
    ]
    assert found[-1].responses == {"a", "b"}
    for whole in ([], [group], [group, between], [entry("Hi"), late], [late], [group, late]):
        assert arrangement.place_latest_response(whole) is whole


@pytest.mark.spec(109)
def test_an_answer_belongs_to_the_newest_call_with_its_id() -> None:
    one, two = entry(fc("a", n=1)), entry(fc("a", n=2))
    first, second = entry(fr("a", n=1), role="user"), entry(fr("a", n=2), role="user")
    found = arrangement.place_responses([one, first, two, second])
    assert shown(found) == [one.content, first.content, two.content, second.content]
    assert shown(arrangement.place_responses([first, one])) == [one.content]


@pytest.mark.spec(109, 110)
def test_answers_to_two_groups_in_one_content_are_parted() -> None:
    one, two = entry(fc("a")), entry(fc("b"))
    both = entry(fr("a", n=1), "aside", fr("b", n=2), role="user")
    found = arrangement.place_responses([one, two, both])
    assert shown(found) == [
        one.content,
        content("user", fr("a", n=1)),
        two.content,
        content("user", fr("b", n=2)),
        content("user", "aside"),
    ]
    assert [e.responses for e in found] == [set(), {"a"}, set(), {"b"}, set()]


@pytest.mark.spec(110)
def test_merged_responses_replace_in_place_and_append_the_rest() -> None:
    merged = arrangement.merge_responses(
        [
            entry(fr("a", n=1), fr("b", n=1), "one", role="user"),
            entry(fr("c", n=2), "two", fr("a", n=2), role="user"),
        ]
    )
    assert merged.content == content("user", fr("a", n=2), fr("b", n=1), "one", fr("c", n=2), "two")
    assert merged.responses == {"a", "b", "c"} and merged.calls == set()
    only = entry(fr("a"))
    assert arrangement.merge_responses([only]) is only


@pytest.mark.spec(109, 111)
def test_answers_whose_ids_were_stripped_are_still_told_apart() -> None:
    events = [
        says("me", fc("adk-1", n=1), fc("adk-2", n=2)),
        says("user", "Meanwhile"),
        gives(fr("adk-2", n=2), fr("adk-1", n=0)),
        gives(fr("adk-1", n=1)),
        says("me", "Done"),
    ]
    assert contents._get_contents(None, events, "me") == [
        content("model", fc(None, n=1), fc(None, n=2)),
        content("user", fr(None, n=2), fr(None, n=1)),
        content("user", "Meanwhile"),
        content("model", "Done"),
    ]


# The functions that take events


@pytest.mark.spec(101, 104)
def test_an_event_counts_if_it_is_seen_and_is_none_of_the_framework_s() -> None:
    counts = contents._should_include_event_in_context
    request = types.Part(function_call=types.FunctionCall(id="x", name="adk_request_credential"))
    assert counts("a", says("me", "Hi", branch="a"))
    assert not counts("a", says("me", "Hi", branch="b"))
    assert not counts(None, Event(author="me"))
    assert not counts(None, says("me", request))
    assert not counts(
        None, Event(author="me", content=types.Content(parts=[types.Part(text="Hi")]))
    )
    odd = EventActions(state_delta={"odd": object()})
    assert counts(None, says("me", "Hi", actions=odd))
    assert contents._get_contents(None, [says("me", "Hi", actions=odd)], "me")


@pytest.mark.spec(112)
def test_the_current_turn_may_keep_ids() -> None:
    events = [says("user", "Old"), says("user", "Hi"), says("me", fc("adk-1"), branch="b")]
    kept = contents._get_current_turn_contents("b", events, "me", preserve_function_call_ids=True)
    assert kept == [content("user", "Hi"), content("model", fc("adk-1")), waits("adk-1")]
    bare = contents._get_current_turn_contents("b", events, "me")
    assert bare[1:] == [content("model", fc(None)), waits(None)]
    assert contents._get_current_turn_contents("c", events, "me") == [content("user", "Hi")]
    assert contents._get_current_turn_contents(None, events)[-2].role == "model"


@pytest.mark.spec(93)
async def test_instruction_contents_do_not_pass_the_model_s_last_content() -> None:
    extra = content("user", "Look at this.")
    request = LlmRequest(contents=[extra])
    events = (says("user", "Hi"), says("me", "Hello"), says("user", "More"))
    await edit_contents(run_of(*events), request)
    assert request.contents[2:] == [extra, content("user", "More")]


@pytest.mark.spec(109, 111)
def test_a_parted_answer_without_its_ids_is_still_replaced_by_a_newer_one() -> None:
    events = [
        says("me", fc("adk-1")),
        says("me", fc("adk-2")),
        gives(fr("adk-1", n=0), fr("adk-2", n=2)),
        gives(fr("adk-1", n=1)),
        says("me", "Done"),
    ]
    assert contents._get_contents(None, events, "me") == [
        content("model", fc(None)),
        content("user", fr(None, n=1)),
        content("model", fc(None)),
        content("user", fr(None, n=2)),
        content("model", "Done"),
    ]


@pytest.mark.spec(108)
def test_a_call_that_answers_itself_is_not_taken_for_an_earlier_call() -> None:
    whole = [entry("Hi"), entry("Ho"), entry(fc("a"), fr("a"))]
    assert arrangement.place_latest_response(whole) is whole


@pytest.mark.spec(105)
def test_a_summary_record_is_left_out_even_where_it_says_something() -> None:
    loud = summary(1.0, 1.0, "S")
    loud.content = content("model", "Aloud")
    assert told(*words(1, 2), loud) == [brief("S"), "2"]
    first = summary(0.0, 0.5, "S", time=0.7)
    first.content = content("model", "Aloud")
    assert told(first, *words(1)) == [brief("S"), "1"]


@pytest.mark.spec(107)
def test_nothing_is_told_of_another_agent_s_blank_message() -> None:
    assert contents._get_contents(None, [says("other", "  "), says("me", "Hi")], "me") == [
        content("model", "Hi")
    ]


@pytest.mark.spec(100, 109)
def test_a_response_extends_what_was_just_laid_out_anew() -> None:
    log = log_of(says("user", "Hi"), says("me", fc("a")), rewind("r"))
    projection = Projection(View("me"))
    kept = list(projection.update(log))
    log.append(EventRecord.of(gives(fr("a"))))
    now = projection.update(log)
    assert all(old is new for old, new in zip(kept[:2], now, strict=False))
    assert now[2:] == [content("user", fr("a"))]


@pytest.mark.spec(93)
async def test_instruction_contents_stand_behind_every_earlier_content() -> None:
    extra = content("user", "Look at this.")
    request = LlmRequest(contents=[extra])
    events = (says("me", "Well?"), says("user", "Hi"), says("me", "Hello"), says("user", "More"))
    await edit_contents(run_of(*events), request)
    assert request.contents[3:] == [extra, content("user", "More")]


@pytest.mark.spec(105)
def test_a_summary_stands_behind_what_came_before_its_range() -> None:
    assert told(*words(1, 2, 3, 4, 5), summary(3.0, 4.0, "S")) == ["1", "2", brief("S"), "5"]


@pytest.mark.spec(108, 109, 111)
def test_merged_answers_whose_ids_were_stripped_are_parted_again() -> None:
    events = [
        says("me", fc("adk-0", n=0)),
        says("me", fc("adk-1", n=1), fc("adk-2", n=2)),
        gives(fr("adk-1", n=1)),
        gives(fr("adk-0", n=0), fr("adk-2", n=2)),
    ]
    assert contents._get_contents(None, events, "me") == [
        content("model", fc(None, n=0)),
        content("user", fr(None, n=0)),
        content("model", fc(None, n=1), fc(None, n=2)),
        content("user", fr(None, n=1), fr(None, n=2)),
    ]
