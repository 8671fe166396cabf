"""Effects of tool calls that run side by side: what of them the session keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ostinato import types
from ostinato._adk_mode import set_follows_adk
from ostinato.agents import LlmAgent
from ostinato.events import Event
from ostinato.events.event_actions import EventActions
from ostinato.events.ui_widget import UiWidget
from ostinato.flows.llm_flows import functions
from ostinato.flows.llm_flows.functions import STOPPED
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext

from .kit import Store, Talk

Work = Callable[[ToolContext], Awaitable[object]]


class Steps:
    """Lets two tools take turns: each waits until the other has said a step's name."""

    def __init__(self) -> None:
        self._said: dict[str, asyncio.Event] = {}

    def say(self, step: str) -> None:
        self._said.setdefault(step, asyncio.Event()).set()

    async def wait(self, step: str) -> None:
        await self._said.setdefault(step, asyncio.Event()).wait()


async def run_both(store: Store, first: Work, second: Work, **options: Any) -> Talk:
    """Run a turn whose model calls two tools in one response."""

    async def one(tool_context: ToolContext) -> object:
        return await first(tool_context)

    async def two(tool_context: ToolContext) -> object:
        return await second(tool_context)

    model = ScriptedModel([[call("one"), call("two")], "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[one, two], **options), store)
    await talk.say()
    return talk


async def test_of_a_key_the_value_written_last_in_time_is_stored(store: Store) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        await steps.wait("second wrote")
        context.state["count"] = context.state["count"] + 1
        context.state["only_first"] = 1

    async def second(context: ToolContext) -> None:
        context.state["count"] = 1
        context.state["only_second"] = 2
        steps.say("second wrote")

    talk = await run_both(store, first, second)
    assert await talk.state() == {"count": 2, "only_first": 1, "only_second": 2}
    answers = [e for e in await talk.stored() if e.get_function_responses()]
    assert [e.actions.state_delta["count"] for e in answers] == [2]


async def test_a_tool_reads_what_a_call_beside_it_wrote_after_its_own_write(store: Store) -> None:
    steps, seen = Steps(), list[Any]()

    async def first(context: ToolContext) -> None:
        context.state["count"] = 1
        context.state["gone"] = 1
        steps.say("first wrote")
        await steps.wait("second wrote")
        seen.extend((context.state["count"], context.state.get("gone"), "gone" in context.state))
        seen.append(context.state.to_dict())
        context.state["count"] = context.state["count"] + 1

    async def second(context: ToolContext) -> None:
        await steps.wait("first wrote")
        context.state["count"] = context.state["count"] + 10
        context.state["gone"] = None
        steps.say("second wrote")

    talk = await run_both(store, first, second)
    assert seen == [11, None, False, {"count": 11}]
    assert await talk.state() == {"count": 12}


@pytest.mark.parametrize("deleted_last", [True, False])
async def test_a_deletion_counts_as_a_write(store: Store, deleted_last: bool) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        await steps.wait("second wrote")
        context.state["key"] = None if deleted_last else "first"

    async def second(context: ToolContext) -> None:
        context.state["key"] = "second" if deleted_last else None
        steps.say("second wrote")

    talk = await run_both(store, first, second)
    assert await talk.state() == ({} if deleted_last else {"key": "first"})


async def test_a_dict_that_was_written_last_is_kept_as_it_was_written(memory: Store) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        context.state["profile"] = {"name": "Ann", "mail": "a@example.org"}
        steps.say("first wrote")

    async def second(context: ToolContext) -> None:
        await steps.wait("first wrote")
        context.state["profile"] = {"name": "Ann"}

    talk = await run_both(memory, first, second)
    assert await talk.state() == {"profile": {"name": "Ann"}}


async def test_writes_into_the_actions_count_like_writes_into_the_state(memory: Store) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        await steps.wait("second wrote")
        context.actions.state_delta["a"] = "first"
        context.actions.state_delta.update(b="first")
        context.actions.state_delta |= {"c": "first"}
        context.actions.state_delta.setdefault("d", "first")

    async def second(context: ToolContext) -> None:
        context.actions.state_delta = {"a": "second", "b": "second", "c": "second", "e": "second"}
        steps.say("second wrote")

    talk = await run_both(memory, first, second)
    state = await talk.state()
    assert state == {**dict.fromkeys("abcd", "first"), "e": "second"}


async def test_what_an_after_tool_callback_writes_counts_in_time_too(memory: Store) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        context.state["by"] = "first"

    async def second(context: ToolContext) -> None:
        await steps.wait("callback wrote")
        context.state["by"] = "second"

    def after(tool: Any, args: Any, tool_context: ToolContext, tool_response: Any) -> None:
        if tool.name == "one":
            tool_context.state["by"] = "callback"
            steps.say("callback wrote")

    talk = await run_both(memory, first, second, after_tool_callback=after)
    assert await talk.state() == {"by": "second"}


async def test_of_an_artifact_the_highest_version_is_noted(memory: Store) -> None:
    steps = Steps()

    async def first(context: ToolContext) -> None:
        await steps.wait("second saved")
        await context.save_artifact("note.txt", types.Part(text="first"))

    async def second(context: ToolContext) -> None:
        await context.save_artifact("note.txt", types.Part(text="second"))
        steps.say("second saved")

    talk = await run_both(memory, first, second)
    answers = [e for e in await talk.stored() if e.get_function_responses()]
    assert [e.actions.artifact_delta for e in answers] == [{"note.txt": 1}]


async def test_the_widgets_of_all_tools_are_rendered(store: Store) -> None:
    async def first(context: ToolContext) -> None:
        context.render_ui_widget(UiWidget(id="map", provider="mcp"))
        context.render_ui_widget(UiWidget(id="legend", provider="mcp"))

    async def second(context: ToolContext) -> None:
        context.render_ui_widget(UiWidget(id="chart", provider="mcp"))

    talk = await run_both(store, first, second)
    (answer,) = [e for e in await talk.stored() if e.get_function_responses()]
    widgets = answer.actions.render_ui_widgets or []
    assert [widget.id for widget in widgets] == ["map", "legend", "chart"]


def merged(first: EventActions, second: EventActions) -> EventActions:
    events = [Event(author="clerk", actions=actions) for actions in (first, second)]
    return functions.merge_parallel_function_response_events(events).actions


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (["a"], ["b", "a"], ["a", "b"]),
        ("a", ["b"], ["a", "b"]),
        (["a"], "b", ["a", "b"]),
        ("a", "b", "b"),
        ("a", None, "a"),
        (None, "b", "b"),
        ([1], [True], [1, True]),
    ],
)
def test_lists_of_routes_are_joined(first: Any, second: Any, both: Any) -> None:
    found = merged(EventActions(route=first), EventActions(route=second)).route
    assert repr(found) == repr(both)


def test_of_two_widgets_with_one_id_the_later_stays() -> None:
    first = EventActions(render_ui_widgets=[UiWidget(id="x", provider="a")])
    second = EventActions(render_ui_widgets=[UiWidget(id="x", provider="b")])
    assert merged(first, second).render_ui_widgets == second.render_ui_widgets


def test_every_field_of_actions_has_a_merge_and_no_call_is_changed_by_it() -> None:
    """A field that holds several things needs a rule of its own: nothing may get lost."""
    one: dict[str, Any] = {"1": {"hint": "one"}}
    two: dict[str, Any] = {"2": {"hint": "two"}}
    first = EventActions(
        state_delta={"a": {"x": 1}},
        artifact_delta={"f": 3, "g": 0},
        requested_tool_confirmations=one,
        agent_state={"a": {"x": 1}},
        skip_summarization=True,
    )
    second = EventActions(
        state_delta={"a": {"y": 2}, "b": None},
        artifact_delta={"f": 2, "h": 1},
        requested_tool_confirmations=two,
        agent_state={"a": {"y": 2}},
    )
    before = (first.model_copy(deep=True), second.model_copy(deep=True))
    both = merged(first, second)
    assert both.state_delta == {"a": {"x": 1, "y": 2}, "b": None}
    assert both.artifact_delta == {"f": 3, "g": 0, "h": 1}
    assert [*both.requested_tool_confirmations] == ["1", "2"]
    assert both.agent_state == {"a": {"x": 1, "y": 2}}
    assert both.skip_summarization is True
    assert (first, second) == before


@pytest.mark.parametrize("for_adk", [False, True])
async def test_the_first_error_stops_the_other_calls_in_programs_for_adk(
    store: Store, for_adk: bool
) -> None:
    steps, ended = Steps(), list[str]()

    async def fail() -> None:
        await steps.wait("begun")
        raise ValueError("broken")

    async def work(tool_context: ToolContext) -> str:
        tool_context.state["begun"] = True
        steps.say("begun")
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            ended.append("stopped")
            raise
        ended.append("done")
        return "worked"

    model = ScriptedModel([[call("fail"), call("work")]])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[fail, work]), store)
    set_follows_adk(for_adk)
    try:
        error = await talk.fails()
    finally:
        set_follows_adk(False)
    assert isinstance(error, ValueError) and str(error) == "broken"
    assert ended == ["stopped" if for_adk else "done"]
    stored = await talk.check_sound()
    failed, other = [answer.response for e in stored for answer in e.get_function_responses()]
    assert failed == {"error": "ValueError: broken"}
    assert other == ({"error": STOPPED} if for_adk else {"result": "worked"})
    assert (await talk.state())["begun"] is True
    await talk.check_goes_on(model)


async def test_a_run_that_is_cancelled_ends_in_programs_for_adk_too(memory: Store) -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    model = ScriptedModel([[call("wait"), call("wait")], "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), memory)
    set_follows_adk(True)
    try:
        run = asyncio.ensure_future(talk.say("Go"))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    finally:
        set_follows_adk(False)
