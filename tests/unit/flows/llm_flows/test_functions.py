"""The functions that run calls, merge responses and find calls, called directly."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.context.invocation import InvocationContext
from ostinato.errors import CallbackError
from ostinato.events import Event, EventActions
from ostinato.flows.llm_flows import functions
from ostinato.models.invalid_args import INVALID_ARGS_KEY
from ostinato.plugins import BasePlugin, PluginManager
from ostinato.sessions import InMemorySessionService, Session
from ostinato.testing import ScriptedModel
from ostinato.tools.base_tool import BaseTool


class Notes(BaseTool):
    """Notes what it was called with."""

    def __init__(self, name: str = "note", answer: Any = "noted", **options: Any) -> None:
        super().__init__(name=name, description="Notes.", **options)
        self.answer = answer
        self.calls: list[tuple[dict[str, Any], Any]] = []

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        self.calls.append((args, tool_context))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def run_of(*plugins: BasePlugin, branch: str | None = None, **agent: Any) -> InvocationContext:
    return InvocationContext(
        session_service=InMemorySessionService(),
        invocation_id="e-1",
        agent=LlmAgent(name="clerk", model=ScriptedModel(), **agent),
        session=Session(id="s", app_name="app", user_id="user"),
        run_config=RunConfig(),
        branch=branch,
        plugin_manager=PluginManager(list(plugins)),
    )


def calls(*ids: str | None, name: str = "note", **args: Any) -> Event:
    made = [types.FunctionCall(id=i, name=name, args=args) for i in ids]
    parts = [types.Part(function_call=one) for one in made]
    return Event(author="clerk", content=types.Content(role="model", parts=parts))


def gives(call_id: str | None, /, author: str = "clerk", **response: Any) -> Event:
    answer = types.FunctionResponse(id=call_id, name="note", response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    return Event(author=author, content=content)


def given(event: Event | None) -> list[tuple[str | None, Any]]:
    assert event is not None
    return [(r.id, r.response) for r in event.get_function_responses()]


# Running


@pytest.mark.spec(131, 138)
async def test_the_calls_of_an_event_are_run_and_answered_in_one_event() -> None:
    tool, ctx = Notes(), run_of(branch="root.clerk")
    event = await functions.handle_function_calls_async(
        ctx, calls("a", "b", text="x"), {"note": tool}
    )
    assert given(event) == [("a", {"result": "noted"}), ("b", {"result": "noted"})]
    assert event is not None and event.content is not None
    assert (event.author, event.branch, event.invocation_id) == ("clerk", "root.clerk", "e-1")
    assert event.content.role == "user"
    assert [args for args, _ in tool.calls] == [{"text": "x"}, {"text": "x"}]
    assert [context.function_call_id for _, context in tool.calls] == ["a", "b"]
    assert [r.name for r in event.get_function_responses()] == ["note", "note"]


@pytest.mark.spec(131)
async def test_only_the_calls_that_the_filter_names_are_run() -> None:
    tool, ctx = Notes(), run_of()
    asked, tools = calls("a", "b", "c"), {"note": tool}
    event = await functions.handle_function_calls_async(ctx, asked, tools, {"b", "c"})
    assert [i for i, _ in given(event)] == ["b", "c"]
    assert await functions.handle_function_calls_async(ctx, asked, tools, set()) is None
    assert len(tool.calls) == 2


@pytest.mark.spec(147)
@pytest.mark.parametrize("ids", [["a"], ["b", "a"]])
async def test_the_user_s_answer_reaches_the_call_that_it_is_for(ids: list[str]) -> None:
    tool, answer = Notes(), ToolConfirmation(confirmed=True, hint="sure")
    await functions.handle_function_calls_async(
        run_of(), calls(*ids), {"note": tool}, None, {"a": answer}
    )
    seen = {context.function_call_id: context.tool_confirmation for _, context in tool.calls}
    assert seen["a"] is answer
    assert seen.get("b") is None


@pytest.mark.spec(132)
async def test_a_call_s_arguments_are_a_copy_and_none_are_an_empty_dict() -> None:
    tool = Notes()
    asked = calls("a", deep={"list": [1]})
    await functions.handle_function_calls_async(run_of(), asked, {"note": tool})
    tool.calls[0][0]["deep"]["list"].append(2)
    assert asked.get_function_calls()[0].args == {"deep": {"list": [1]}}
    asked.get_function_calls()[0].args = None
    await functions.handle_function_calls_async(run_of(), asked, {"note": tool})
    assert tool.calls[1][0] == {}


@pytest.mark.spec(131)
async def test_a_call_without_an_id_is_run_and_its_answer_has_none() -> None:
    ctx = run_of()
    event = await functions.handle_function_calls_async(ctx, calls(None), {"note": Notes()})
    assert given(event) == [(None, {"result": "noted"})]
    assert ctx.run_state.finished_responses == {"": event}


@pytest.mark.spec(136)
@pytest.mark.parametrize("long_running", [True, False])
async def test_only_a_long_running_tool_may_leave_its_call_unanswered(long_running: bool) -> None:
    ctx, tool = run_of(), Notes(answer=None, is_long_running=long_running)
    event = await functions.handle_function_calls_async(ctx, calls("a"), {"note": tool})
    assert (event is None) is long_running
    assert (ctx.run_state.finished_responses == {}) is long_running


@pytest.mark.spec(134)
async def test_the_first_error_is_raised_and_says_where_it_comes_from() -> None:
    error = ValueError("broken")
    ctx = run_of()
    with pytest.raises(ValueError) as caught:
        await functions.handle_function_calls_async(ctx, calls("a"), {"note": Notes(answer=error)})
    assert caught.value is error
    assert error.__notes__ == ["raised by tool 'note' of agent 'clerk' (call a, invocation e-1)"]
    assert given(ctx.run_state.finished_responses["a"]) == [("a", {"error": "ValueError: broken"})]


@pytest.mark.spec(135)
@pytest.mark.parametrize(("tools", "listed"), [(["add", "sub"], "add, sub"), ([], "none")])
async def test_an_unknown_tool_is_answered_with_the_list_of_those_there_are(
    tools: list[str], listed: str
) -> None:
    ctx = run_of()
    event = await functions.handle_function_calls_async(
        ctx, calls("a", name="mul"), {name: Notes(name) for name in tools}
    )
    assert given(event) == [
        (
            "a",
            {
                "error": "Invoking `mul()` failed as no tool with that name is available. The "
                f"tools you can call are: {listed}. You could retry, but it is IMPORTANT that "
                "you only call a tool from that list."
            },
        )
    ]
    assert ctx.run_state.mistakes == {"mul": 1}


@pytest.mark.spec(134, 135)
@pytest.mark.parametrize("where", ["plugin", "agent"])
async def test_the_error_hooks_are_handed_the_unknown_tool_its_arguments_and_the_error(
    where: str,
) -> None:
    seen: list[dict[str, Any]] = []

    def hook(**arguments: Any) -> dict[str, Any]:
        seen.append(arguments)
        return {"instead": 1}

    class Mends(BasePlugin):
        async def on_tool_error_callback(self, **arguments: Any) -> Any:
            return hook(**arguments)

    ctx = run_of(Mends("mends")) if where == "plugin" else run_of(on_tool_error_callback=hook)
    asked = calls("a", name="mul", x=2)
    event = await functions.handle_function_calls_async(ctx, asked, {"add": Notes("add")})
    assert given(event) == [("a", {"instead": 1})]
    (arguments,) = seen
    assert arguments["tool"].name == "mul"
    assert arguments["tool"].description == "A tool that does not exist."
    assert arguments["tool_args" if where == "plugin" else "args"] == {"x": 2}
    assert arguments["tool_context"].function_call_id == "a"
    assert str(arguments["error"]) == (
        "Tool 'mul' not found. Agent 'clerk' has no tool of that name; its tools are: add."
    )
    assert ctx.run_state.mistakes == {}


HOOKS = ["before_tool_callback", "after_tool_callback", "on_tool_error_callback"]


@pytest.mark.spec(133)
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("where", ["plugin", "agent"])
async def test_a_hook_s_wrong_answer_is_an_error_that_names_hook_and_agent(
    hook: str, where: str
) -> None:
    tool = Notes(answer=KeyError("k") if hook == "on_tool_error_callback" else "noted")

    def wrong(**_: Any) -> Any:
        return Notes()

    if where == "agent":
        hooks: dict[str, Any] = {hook: wrong}
        ctx, who = run_of(**hooks), f"{hook} '{wrong.__qualname__}'"
    else:

        async def answers(self: Any, **_: Any) -> Any:
            return Notes()

        ctx = run_of(type("Wrong", (BasePlugin,), {hook: answers})("wrong"))
        who = f"a plugin's {hook}"
    with pytest.raises(CallbackError) as caught:
        await functions.handle_function_calls_async(ctx, calls("a"), {"note": tool})
    message = f"Agent 'clerk': {who} returned Notes; it must return dict or None."
    assert str(caught.value) == message


@pytest.mark.spec(133)
@pytest.mark.parametrize("where", ["plugin", "agent"])
async def test_the_hooks_around_a_tool_are_handed_the_tool_its_arguments_and_the_result(
    where: str,
) -> None:
    tool = Notes(answer={"n": 1})
    seen: list[dict[str, Any]] = []

    def before(**arguments: Any) -> None:
        seen.append(arguments)

    def after(**arguments: Any) -> dict[str, Any]:
        seen.append(arguments)
        return {}

    class Watches(BasePlugin):
        async def before_tool_callback(self, **arguments: Any) -> None:
            before(**arguments)

        async def after_tool_callback(self, **arguments: Any) -> Any:
            return after(**arguments)

    if where == "plugin":
        ctx, args, result = run_of(Watches("watches")), "tool_args", "result"
    else:
        ctx = run_of(before_tool_callback=before, after_tool_callback=after)
        args, result = "args", "tool_response"
    event = await functions.handle_function_calls_async(ctx, calls("a", x=2), {"note": tool})
    assert given(event) == [("a", {})]
    context = tool.calls[0][1]
    first = {"tool": tool, args: {"x": 2}, "tool_context": context}
    assert seen == [first, {**first, result: {"n": 1}}]


@pytest.mark.spec(134)
async def test_arguments_that_are_not_json_are_answered_with_a_piece_of_them() -> None:
    ctx, tool = run_of(), Notes()
    asked = calls("a", **{INVALID_ARGS_KEY: "{" * 600})
    event = await functions.handle_function_calls_async(ctx, asked, {"note": tool})
    shown = ("'" + "{" * 600)[:500]
    text = (
        "Invoking `note()` failed as its arguments are not valid JSON: "
        f"{shown}. You could retry with a JSON object."
    )
    assert given(event) == [("a", {"error": text})]
    assert tool.calls == [] and ctx.run_state.mistakes == {"note": 1}


@pytest.mark.spec(137)
async def test_a_result_may_have_four_mebibytes_where_there_is_no_config() -> None:
    room = 4 * 1024 * 1024 - len('{"result":""}')
    for size, fits in ((room, True), (room + 1, False)):
        ctx = run_of().model_copy(update={"run_config": None})
        tool = Notes(answer="x" * size)
        event = await functions.handle_function_calls_async(ctx, calls("a"), {"note": tool})
        ((_, response),) = given(event)
        assert ("error" not in response) is fits
        if not fits:
            assert "note" in response["error"]


# Merging


@pytest.mark.spec(139)
def test_merged_responses_keep_order_first_timestamp_and_all_actions() -> None:
    first, second = gives("a", n=1), gives("b", n=2)
    first.timestamp, second.timestamp = 5.0, 6.0
    first.invocation_id, first.branch = "e-1", "root"
    first.actions = EventActions(state_delta={"x": {"p": 1, "q": 1}, "y": 1}, escalate=True)
    second.actions = EventActions(state_delta={"x": {"q": 2}, "z": 3}, transfer_to_agent="other")
    nothing = Event(author="clerk")
    merged = functions.merge_parallel_function_response_events([first, nothing, second])
    assert given(merged) == [("a", {"n": 1}), ("b", {"n": 2})]
    assert merged.content is not None and merged.content.role == "user"
    assert (merged.timestamp, merged.author, merged.branch) == (5.0, "clerk", "root")
    assert merged.invocation_id == "e-1"
    assert merged.actions.state_delta == {"x": {"p": 1, "q": 2}, "y": 1, "z": 3}
    assert merged.actions.escalate and merged.actions.transfer_to_agent == "other"


@pytest.mark.parametrize("ids", [["a"], ["a", "b"]])
async def test_responses_of_a_live_run_carry_the_session_of_their_calls(ids: list[str]) -> None:
    event = calls(*ids)
    event.live_session_id = "live-1"
    response = await functions.handle_function_calls_live(run_of(), event, {"note": Notes()})
    assert response is not None and response.live_session_id == "live-1"
    assert [call_id for call_id, _ in given(response)] == ids


def test_merged_responses_keep_the_live_session_of_the_first() -> None:
    first, second = gives("a"), gives("b")
    first.live_session_id = "live-1"
    merge = functions.merge_parallel_function_response_events
    assert merge([first, second]).live_session_id == "live-1"
    assert merge([second, first]).live_session_id is None


@pytest.mark.spec(140)
def test_one_response_is_passed_on_as_it_is_and_none_are_an_error() -> None:
    only = gives("a")
    assert functions.merge_parallel_function_response_events([only]) is only
    with pytest.raises(ValueError, match=r"^No function response events provided\.$"):
        functions.merge_parallel_function_response_events([])


@pytest.mark.spec(139)
def test_dicts_are_merged_in_place_and_anything_else_is_replaced() -> None:
    first: dict[str, Any] = {"a": {"b": 1, "c": {"d": 1}}, "e": {"f": 1}, "g": 1}
    merged = functions.deep_merge_dicts(first, {"a": {"c": {"x": 2}}, "e": 5, "g": {"h": 1}})
    assert merged is first
    assert merged == {"a": {"b": 1, "c": {"d": 1, "x": 2}}, "e": 5, "g": {"h": 1}}


# Finding


@pytest.mark.spec(14)
def test_the_newest_event_with_a_call_is_found_by_the_call_s_id() -> None:
    events = [calls("a"), calls("b", "a"), gives("a")]
    assert functions.find_event_by_function_call_id(events, "a") is events[1]
    assert functions.find_event_by_function_call_id(events, "c") is None


@pytest.mark.spec(14)
def test_the_call_of_the_last_event_is_found_before_it() -> None:
    asked, other = calls("a"), calls("b")
    assert functions.find_matching_function_call([asked, other, gives("a")]) is asked
    assert functions.find_matching_function_call([other, asked, gives("a")]) is asked
    assert functions.find_matching_function_call([asked, other]) is None
    assert functions.find_matching_function_call([asked, gives(None)]) is None
    assert functions.find_matching_function_call([calls(None), gives(None)]) is None
    assert functions.find_matching_function_call([]) is None
    both = calls("a")
    assert both.content is not None and both.content.parts is not None
    both.content.parts += gives("a").content.parts  # type: ignore[union-attr,operator]
    assert functions.find_matching_function_call([both]) is None


@pytest.mark.spec(133)
async def test_a_plugin_s_answer_around_a_tool_skips_the_agent_s_own_hook() -> None:
    asked: list[str] = []

    def note(**_: Any) -> dict[str, Any]:
        asked.append("agent")
        return {"by": "agent"}

    class Answers(BasePlugin):
        async def before_tool_callback(self, **_: Any) -> Any:
            return {"by": "before"}

        async def after_tool_callback(self, *, result: Any, **_: Any) -> Any:
            return {"by": "after", "had": result}

    tool = Notes()
    ctx = run_of(Answers("answers"), before_tool_callback=note, after_tool_callback=note)
    event = await functions.handle_function_calls_async(ctx, calls("a"), {"note": tool})
    assert given(event) == [("a", {"by": "after", "had": {"by": "before"}})]
    assert asked == [] and tool.calls == []
