"""How a conversation becomes contents: one test for each sentence of Spec 2 §4."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event, EventActions, EventCompaction
from ostinato.flows.llm_flows import contents
from ostinato.flows.llm_flows.contents import (
    _contains_empty_content,
    _get_contents,
    _get_current_turn_contents,
    _is_event_belongs_to_branch,
    _is_part_invisible,
    _merge_function_response_events,
    _rearrange_events_for_async_function_responses_in_history,
    _rearrange_events_for_latest_function_response,
    _should_include_event_in_context,
)
from ostinato.flows.llm_flows.history import arrangement
from ostinato.models import BaseLlm, FallbackModel, Gemini, LiteLlm
from ostinato.models.anthropic_llm import AnthropicLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.openai_responses_llm import OpenAIResponsesLlm
from ostinato.sessions import Session
from ostinato.testing import ScriptedModel

ME = "me"
BLOB = types.Blob(data=b"x", mime_type="image/png")


def said(author: str, *parts: Any, role: str | None = None, **fields: Any) -> Event:
    """An event with texts and parts; the role follows from the author."""
    role = role or ("user" if author == "user" else "model")
    return Event(author=author, content=content(role, *parts), **fields)


def content(role: str, *parts: Any) -> types.Content:
    made = [types.Part(text=p) if isinstance(p, str) else p for p in parts]
    return types.Content(role=role, parts=made)


def user(*parts: Any) -> types.Content:
    return content("user", *parts)


def model(*parts: Any) -> types.Content:
    return content("model", *parts)


def fc(name: str, id: str | None = None, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=id, name=name, args=args))


def fr(name: str, id: str | None = None, **response: Any) -> types.Part:
    made = types.FunctionResponse(id=id, name=name, response=response)
    return types.Part(function_response=made)


def answered(*parts: Any, author: str = ME, **fields: Any) -> Event:
    """A response event: written by the agent, in the role of the user."""
    return said(author, *parts, role="user", **fields)


def thinks(text: str) -> types.Part:
    return types.Part(text=text, thought=True)


def seen(*events: Event, agent: str = ME, branch: str | None = None, **options: Any) -> Any:
    return _get_contents(branch, list(events), agent, **options)


# Step 1: rewinds


def test_history_without_anything_special_is_taken_over_in_order() -> None:
    assert seen(said("user", "Hi"), said(ME, "Hello"), said("user", "Bye")) == [
        user("Hi"),
        model("Hello"),
        user("Bye"),
    ]


@pytest.mark.spec(100)
def test_a_rewind_hides_everything_from_its_invocation_up_to_itself() -> None:
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="two"))
    assert seen(
        said("user", "One", invocation_id="one"),
        said(ME, "First", invocation_id="one"),
        said("user", "Two", invocation_id="two"),
        said(ME, "Second", invocation_id="two"),
        said("user", "Three", invocation_id="three"),
        rewind,
        said("user", "Four", invocation_id="four"),
    ) == [user("One"), model("First"), user("Four")]


@pytest.mark.spec(100)
def test_a_rewind_that_another_rewind_hides_hides_nothing_itself() -> None:
    def rewind(to: str, own: str) -> Event:
        actions = EventActions(rewind_before_invocation_id=to)
        return Event(author="user", invocation_id=own, actions=actions)

    assert seen(
        said("user", "One", invocation_id="one"),
        said("user", "Two", invocation_id="two"),
        rewind("one", own="three"),
        said("user", "Four", invocation_id="four"),
        rewind("two", own="five"),
    ) == [user("One")]


@pytest.mark.spec(100)
def test_a_rewind_to_an_invocation_that_was_deleted_hides_all_before_it() -> None:
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="gone"))
    assert seen(
        said("user", "Two", invocation_id="two"),
        rewind,
        said("user", "Three", invocation_id="three"),
        said("user", "Late", invocation_id="gone"),
    ) == [user("Three"), user("Late")]


# Step 2: what is left out


@pytest.mark.spec(101)
@pytest.mark.parametrize(
    "event",
    [
        Event(author=ME),
        Event(author=ME, content=types.Content(parts=[types.Part(text="no role")])),
        Event(author=ME, content=types.Content(role="model")),
        Event(author=ME, content=types.Content(role="model", parts=[])),
        said(ME, ""),
        said(ME, thinks("hm"), types.Part()),
    ],
    ids=["no content", "no role", "no parts", "parts empty", "text empty", "all invisible"],
)
def test_an_event_without_anything_visible_is_empty_and_left_out(event: Event) -> None:
    assert _contains_empty_content(event)
    assert seen(said("user", "Hi"), event) == [user("Hi")]


@pytest.mark.spec(101)
def test_an_event_with_a_compaction_or_a_transcription_is_never_empty() -> None:
    summary = EventCompaction(start_timestamp=1, end_timestamp=2, compacted_content=model("S"))
    heard = types.Transcription(text="Hi")
    assert not _contains_empty_content(Event(actions=EventActions(compaction=summary)))
    assert not _contains_empty_content(Event(input_transcription=heard))
    assert not _contains_empty_content(Event(output_transcription=heard))


@pytest.mark.spec(102)
@pytest.mark.parametrize(
    ("part", "invisible"),
    [
        (types.Part(text="x"), False),
        (types.Part(inline_data=BLOB), False),
        (types.Part(file_data=types.FileData(file_uri="gs://x")), False),
        (
            types.Part(
                executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)
            ),
            False,
        ),
        (
            types.Part(
                code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK)
            ),
            False,
        ),
        (fc("t"), False),
        (fr("t"), False),
        (types.Part(thought=True, function_call=types.FunctionCall(name="t")), False),
        (types.Part(thought=True, function_response=types.FunctionResponse(name="t")), False),
        (types.Part(), True),
        (types.Part(text=""), True),
        (thinks("x"), True),
        (types.Part(thought=True, inline_data=BLOB), True),
    ],
)
def test_a_part_is_invisible_where_it_is_a_thought_or_holds_nothing(
    part: types.Part, invisible: bool
) -> None:
    assert _is_part_invisible(part) is invisible


@pytest.mark.spec(103)
@pytest.mark.parametrize(
    ("mine", "its", "belongs"),
    [
        (None, None, True),
        ("fan.left", None, True),
        (None, "fan.left", True),
        ("fan.left", "fan.left", True),
        ("fan.left.leaf", "fan.left", True),
        ("fan.left", "fan.left.leaf", False),
        ("fan.left", "fan.right", False),
        ("fan.lefty", "fan.left", False),
    ],
)
def test_an_event_is_seen_on_its_own_branch_and_those_below_it(
    mine: str | None, its: str | None, belongs: bool
) -> None:
    event = said(ME, "x", branch=its)
    assert _is_event_belongs_to_branch(mine, event) is belongs
    assert _should_include_event_in_context(mine, event) is belongs
    assert seen(event, branch=mine) == ([model("x")] if belongs else [])


@pytest.mark.spec(104)
@pytest.mark.parametrize(
    "name", ["adk_request_credential", "adk_request_confirmation", "adk_framework"]
)
def test_requests_of_the_framework_and_their_answers_are_left_out(name: str) -> None:
    asked, answer = said(ME, fc(name, "1")), said("user", fr(name, "1", ok=True))
    assert not _should_include_event_in_context(None, asked)
    assert not _should_include_event_in_context(None, answer)
    assert seen(said("user", "Hi"), asked, answer) == [user("Hi")]


@pytest.mark.spec(104)
def test_a_request_for_input_is_left_out_unless_a_tool_asks_and_waits() -> None:
    """The tool of that name is long-running, and the model waits for what the user answers."""
    asked, answer = (
        said(ME, fc("adk_request_input", "1")),
        said("user", fr("adk_request_input", "1")),
    )
    assert not _should_include_event_in_context(None, asked)
    assert seen(said("user", "Hi"), asked, answer) == [user("Hi")]
    asked.long_running_tool_ids = {"1"}
    assert _should_include_event_in_context(None, asked)
    assert [c.role for c in seen(said("user", "Hi"), asked, answer)] == ["user", "model", "user"]


# Step 3: compaction


def _at(event: Event, time: float) -> Event:
    event.timestamp = time
    return event


def _summary(text: str, start: float, end: float, time: float) -> Event:
    made = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=model(text))
    return _at(Event(author="user", actions=EventActions(compaction=made)), time)


@pytest.mark.spec(105)
def test_a_summary_stands_in_the_place_of_what_it_covers() -> None:
    assert seen(
        _at(said("user", "One"), 1),
        _at(said(ME, "First"), 2),
        _at(said("user", "Two"), 3),
        _summary("All so far.", 1, 2, time=4),
        _at(said(ME, "Second"), 5),
    ) == [user("For context:", "[model] said: All so far."), user("Two"), model("Second")]


@pytest.mark.spec(105)
def test_of_two_summaries_the_one_that_the_other_covers_is_left_out() -> None:
    assert seen(
        _at(said("user", "One"), 1),
        _summary("Small.", 1, 1, time=2),
        _at(said("user", "Two"), 3),
        _summary("Great.", 1, 3, time=4),
    ) == [user("For context:", "[model] said: Great.")]


# Step 4: transcriptions


def _heard(text: str) -> Event:
    return Event(author="user", input_transcription=types.Transcription(text=text))


def _spoke(text: str) -> Event:
    return Event(author=ME, output_transcription=types.Transcription(text=text))


@pytest.mark.spec(106)
def test_transcriptions_of_one_side_are_joined_until_the_other_side_speaks() -> None:
    assert seen(_heard("Good "), _heard("day"), _spoke("Hel"), _spoke("lo"), _heard("Bye")) == [
        user("Good day"),
        model("Hello"),
        user("Bye"),
    ]


@pytest.mark.spec(106)
def test_an_event_with_content_ends_a_transcription() -> None:
    assert seen(_heard("One"), said("user", "written"), _heard("Two")) == [
        user("One"),
        user("written"),
        user("Two"),
    ]


def test_transcriptions_of_other_agents_are_quoted_whole() -> None:
    def spoke(author: str, text: str) -> Event:
        return Event(author=author, output_transcription=types.Transcription(text=text))

    events = [
        _heard("Hi"),
        spoke("other", "Hel"),
        spoke("other", "lo"),
        _heard("So?"),
        spoke("other", " "),
        spoke(ME, "It is "),
        spoke(ME, "me."),
    ]
    assert seen(*events) == [
        user("Hi"),
        user("For context:", "[other] said: Hello"),
        user("So?"),
        model("It is me."),
    ]


# Step 5: other agents


@pytest.mark.spec(107)
def test_another_agent_s_text_call_and_response_are_told_as_context() -> None:
    assert seen(
        said("other", "I look."),
        said("other", fc("find", "1", what="tea")),
        answered(fr("find", "1", found=2), author="other"),
    ) == [
        user("For context:", "[other] said: I look."),
        user("For context:", "[other] called tool `find` with parameters: {'what': 'tea'}"),
        user("For context:", "[other] `find` tool returned result: {'found': 2}"),
    ]


@pytest.mark.spec(107)
def test_another_agent_s_thoughts_are_left_out_and_with_them_an_event_of_nothing_else() -> None:
    assert seen(said("other", thinks("hm"), "Aha.")) == [
        user("For context:", "[other] said: Aha."),
    ]
    assert seen(said("user", "Hi"), said("other", thinks("hm"))) == [user("Hi")]


@pytest.mark.spec(107)
def test_another_agent_s_files_are_taken_over_as_they_are() -> None:
    picture = types.Part(inline_data=BLOB)
    assert seen(said("other", picture)) == [user("For context:", picture)]


@pytest.mark.spec(107)
def test_the_agent_s_own_messages_and_the_user_s_are_not_told_as_context() -> None:
    assert seen(said("user", "Hi"), said(ME, "Hello")) == [user("Hi"), model("Hello")]


# Step 6: calls and responses


@pytest.mark.spec(108)
def test_a_late_response_at_the_end_moves_behind_its_call_and_what_lay_between_goes() -> None:
    assert seen(
        said("user", "Ask them"),
        said(ME, fc("ask", "1")),
        answered(fr("ask", "1", status="pending")),
        said(ME, "I asked."),
        said("user", "And now?"),
        said("user", fr("ask", "1", status="done")),
    ) == [user("Ask them"), model(fc("ask", "1")), user(fr("ask", "1", status="done"))]


@pytest.mark.spec(108)
def test_responses_between_a_call_and_its_latest_response_are_merged_with_it() -> None:
    calls = said(ME, fc("a", "1"), fc("b", "2"))
    first, second = answered(fr("a", "1", n=1)), said("user", fr("b", "2", n=2))
    assert seen(calls, first, said(ME, "Waiting."), second) == [
        model(fc("a", "1"), fc("b", "2")),
        user(fr("a", "1", n=1), fr("b", "2", n=2)),
    ]


@pytest.mark.spec(108)
def test_a_response_right_behind_its_call_is_left_where_it_is() -> None:
    events = [said("user", "Hi"), said(ME, fc("a", "1")), answered(fr("a", "1"))]
    assert _rearrange_events_for_latest_function_response(events) == events


@pytest.mark.spec(109)
def test_in_history_every_call_is_followed_at_once_by_its_response() -> None:
    assert seen(
        said(ME, fc("a", "1")),
        said("user", "Meanwhile"),
        said("user", fr("a", "1", n=1)),
        said("user", "Next"),
    ) == [model(fc("a", "1")), user(fr("a", "1", n=1)), user("Meanwhile"), user("Next")]


@pytest.mark.spec(109)
def test_in_history_the_responses_of_one_group_of_calls_become_one_content() -> None:
    events = [
        said(ME, fc("a", "1"), fc("b", "2")),
        answered(fr("a", "1", n=1)),
        said("user", "Meanwhile"),
        said("user", fr("b", "2", n=2)),
        said(ME, "Done."),
    ]
    arranged = _rearrange_events_for_async_function_responses_in_history(events)
    assert [e.content for e in arranged] == [
        model(fc("a", "1"), fc("b", "2")),
        user(fr("a", "1", n=1), fr("b", "2", n=2)),
        user("Meanwhile"),
        model("Done."),
    ]


@pytest.mark.spec(109)
def test_in_history_the_newest_response_of_a_call_counts() -> None:
    assert seen(
        said(ME, fc("ask", "1")),
        answered(fr("ask", "1", status="pending")),
        said(ME, "I asked."),
        said("user", fr("ask", "1", status="done")),
        said(ME, "Good news."),
    ) == [
        model(fc("ask", "1")),
        user(fr("ask", "1", status="done")),
        model("I asked."),
        model("Good news."),
    ]


# §4.4: merging


@pytest.mark.spec(110)
def test_merged_responses_replace_by_id_and_append_what_is_new() -> None:
    first = answered(fr("a", "1", n=1), fr("b", "2", n=2))
    second = said("user", fr("b", "2", n=20), fr("c", "3", n=3), "and words")
    merged = _merge_function_response_events([first, second])
    assert merged.content == user(
        fr("a", "1", n=1), fr("b", "2", n=20), fr("c", "3", n=3), "and words"
    )
    assert merged.author == first.author and merged.id == first.id


@pytest.mark.spec(110)
def test_merging_leaves_the_events_that_are_merged_as_they_were() -> None:
    first, second = answered(fr("a", "1", n=1)), answered(fr("a", "1", n=2))
    before = first.model_copy(deep=True)
    assert _merge_function_response_events([first, second]).content == user(fr("a", "1", n=2))
    assert first == before


# Step 7: contents


@pytest.mark.spec(111)
def test_ids_made_by_the_client_are_stripped_and_the_model_s_own_are_kept() -> None:
    events = [
        said(ME, fc("a", "adk-1"), fc("b", "call_7")),
        answered(fr("a", "adk-1"), fr("b", "call_7")),
    ]
    assert seen(*events) == [
        model(fc("a"), fc("b", "call_7")),
        user(fr("a"), fr("b", "call_7")),
    ]


@pytest.mark.spec(111)
def test_ids_made_by_the_client_stay_where_they_are_to_be_preserved() -> None:
    events = [said(ME, fc("a", "adk-1")), answered(fr("a", "adk-1"))]
    assert seen(*events, preserve_function_call_ids=True) == [
        model(fc("a", "adk-1")),
        user(fr("a", "adk-1")),
    ]


class OfOnesOwn(AnthropicLlm):
    """A subclass, as users make them."""


def _gemini(**fields: Any) -> BaseLlm:
    return Gemini(model="gemini-2.5-flash", api_key="k", **fields)


@pytest.mark.parametrize(
    ("make", "keeps"),
    [
        (lambda: AnthropicLlm(model="claude-x", api_key="k"), True),
        (lambda: OfOnesOwn(model="claude-x", api_key="k"), True),
        (lambda: LiteLlm("groq/llama"), True),
        (lambda: OpenAILlm(model="gpt-5", api_key="k"), True),
        (lambda: OpenAIResponsesLlm(model="gpt-5", api_key="k"), True),
        (lambda: _gemini(use_interactions_api=True), True),
        (lambda: FallbackModel(models=[_gemini(), OfOnesOwn(model="claude-x")]), True),
        (lambda: FallbackModel(models=[_gemini(), ScriptedModel()]), False),
        (_gemini, False),
        (ScriptedModel, False),
        (lambda: Mock(spec=BaseLlm, model="m"), False),
        (lambda: "gemini-2.5-flash", False),  # there is no key, so it cannot be made
    ],
    ids=range(12),
)
async def test_models_that_tie_results_to_calls_by_id_get_the_ids_of_the_client(
    make: Callable[[], Any], keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    events = [said(ME, fc("a", "adk-1"), fc("a", "adk-2")), answered(fr("a", "adk-2", n=1))]
    session = Session(id="s", app_name="app", user_id="u", events=events)
    agent = LlmAgent(name=ME, model=make())
    ctx = InvocationContext(session_service=None, invocation_id="e", agent=agent, session=session)
    request = LlmRequest()
    async for _ in contents.request_processor.run_async(ctx, request):
        pass
    first, second = ("adk-1", "adk-2") if keeps else (None, None)
    interim = fr("a", first, **arrangement.PENDING)
    assert request.contents == [
        model(fc("a", first), fc("a", second)),
        user(interim, fr("a", second, n=1)),
    ]


@pytest.mark.spec(111)
def test_contents_are_copies_whose_edits_do_not_reach_the_events() -> None:
    event = said(ME, fc("a", "adk-1", what={"deep": 1}))
    made = seen(event)[0]
    made.parts[0].function_call.args["what"]["deep"] = 2
    made.role = "user"
    assert event.content == model(fc("a", "adk-1", what={"deep": 1}))


# §4.2: the current turn


def _turn(*events: Event, branch: str | None = None) -> list[types.Content]:
    return _get_current_turn_contents(branch, list(events), ME)


@pytest.mark.spec(112)
def test_the_current_turn_starts_at_the_user_s_latest_message() -> None:
    assert _turn(
        said("user", "One"),
        said(ME, "First"),
        said("user", "Two"),
        said(ME, fc("a", "1")),
        answered(fr("a", "1", n=1)),
    ) == [user("Two"), model(fc("a", "1")), user(fr("a", "1", n=1))]


@pytest.mark.spec(112)
def test_the_current_turn_starts_at_another_agent_s_latest_message() -> None:
    assert _turn(said("user", "One"), said("other", "Over to you."), said(ME, "So.")) == [
        user("For context:", "[other] said: Over to you."),
        model("So."),
    ]


@pytest.mark.spec(112)
def test_what_is_not_seen_does_not_start_a_turn() -> None:
    assert _turn(
        said("user", "One", branch="fan.left"),
        said("other", "Elsewhere", branch="fan.right"),
        said("other", fc("adk_request_credential", "1")),
        Event(author="user"),
        branch="fan.left",
    ) == [user("One")]


def test_every_prefix_of_a_long_history_ends_with_what_was_said_last() -> None:
    counter = itertools.count()
    events = [said(who, f"{next(counter)}") for _ in range(5) for who in ("user", ME)]
    for length in range(1, len(events) + 1):
        assert [c.parts[0].text for c in seen(*events[:length])] == [str(n) for n in range(length)]
