"""Hooks that return the wrong type, or raise: the developer is told which, of which agent."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import CallbackError
from ostinato.models import LlmResponse
from ostinato.plugins import BasePlugin
from ostinato.testing import ScriptedModel, call

from .kit import Store, Talk, once

# hook -> the type it has to return
HOOKS = {
    "before_agent_callback": "Content",
    "after_agent_callback": "Content",
    "before_model_callback": "LlmResponse",
    "after_model_callback": "LlmResponse",
    "on_model_error_callback": "LlmResponse",
    "before_tool_callback": "dict",
    "after_tool_callback": "dict",
    "on_tool_error_callback": "dict",
}
RUN_HOOKS = {
    "on_user_message_callback": "Content",
    "before_run_callback": "Content",
    "on_event_callback": "Event",
}


def scene(hook: str) -> tuple[ScriptedModel, list[Any]]:
    """A script and tools that bring a run to a hook."""

    def book() -> str:
        if hook == "on_tool_error_callback":
            raise RuntimeError("no paper")
        return "booked"

    if hook == "on_model_error_callback":
        return ScriptedModel([RuntimeError("quota")]), []
    if hook in ("before_agent_callback", "before_model_callback", *RUN_HOOKS):
        return ScriptedModel(), []
    if "tool" in hook:
        return ScriptedModel([call("book")]), [book]
    return ScriptedModel(["Done."]), []


def plugin_with(hook: str, callback: Any) -> BasePlugin:
    async def method(self: Any, **kwargs: Any) -> Any:
        return callback(**kwargs)

    return type("Wrong", (BasePlugin,), {hook: method})(name="wrong")


class Unusual:
    """Of a type that no hook may return."""


@pytest.mark.spec(157)
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_callback_that_returns_the_wrong_type_is_named(store: Store, hook: str) -> None:
    model, tools = scene(hook)
    hooks: dict[str, Any] = {hook: once(Unusual())}
    agent = LlmAgent(name="clerk", model=model, tools=tools, **hooks)
    talk = Talk(agent, store)
    error = await talk.fails()
    assert isinstance(error, CallbackError), error
    for word in ("clerk", hook, "Unusual", HOOKS[hook]):
        assert word in str(error)
    await talk.check_goes_on(model)


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_plugin_s_hook_that_returns_the_wrong_type_is_named(
    store: Store, hook: str
) -> None:
    model, tools = scene(hook)
    agent = LlmAgent(name="clerk", model=model, tools=tools)
    talk = Talk(agent, store, plugins=[plugin_with(hook, once(Unusual()))])
    error = await talk.fails()
    assert isinstance(error, CallbackError), error
    for word in ("clerk", hook, "Unusual", HOOKS[hook]):
        assert word in str(error)
    await talk.check_goes_on(model)


@pytest.mark.parametrize("hook", RUN_HOOKS)
async def test_a_run_s_hook_that_returns_the_wrong_type_is_named(store: Store, hook: str) -> None:
    model, tools = scene(hook)
    if hook == "on_event_callback":
        model.add("Done.")
    agent = LlmAgent(name="clerk", model=model, tools=tools)
    talk = Talk(agent, store, plugins=[plugin_with(hook, once(Unusual()))])
    error = await talk.fails()
    assert isinstance(error, CallbackError), error
    for word in (hook, "Unusual", RUN_HOOKS[hook]):
        assert word in str(error)
    await talk.check_goes_on(model)


@pytest.mark.parametrize("hook", [*HOOKS, *RUN_HOOKS, "after_run_callback"])
async def test_a_plugin_that_raises_leaves_a_valid_session(store: Store, hook: str) -> None:
    raised = [ValueError("broken plugin")]

    def breaks(**_: Any) -> None:
        if raised:
            raise raised.pop()

    model, tools = scene(hook)
    if hook in ("on_event_callback", "after_run_callback"):
        model = ScriptedModel(["Done."])
    talk = Talk(
        LlmAgent(name="clerk", model=model, tools=tools),
        store,
        plugins=[plugin_with(hook, breaks)],
    )
    error = await talk.fails()
    assert "broken plugin" in f"{error}{error.__cause__}"
    said = f"{error}{getattr(error, '__notes__', '')}"
    assert "wrong" in said and hook in said
    await talk.check_goes_on(model)


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_callback_that_raises_leaves_a_valid_session(store: Store, hook: str) -> None:
    raised = [ValueError("broken callback")]

    def breaks(*_: Any, **__: Any) -> None:
        if raised:
            raise raised.pop()

    model, tools = scene(hook)
    hooks: dict[str, Any] = {hook: breaks}
    agent = LlmAgent(name="clerk", model=model, tools=tools, **hooks)
    talk = Talk(agent, store)
    error = await talk.fails()
    assert "broken callback" in str(error)
    await talk.check_goes_on(model)


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_an_on_event_hook_that_raises_at_any_event_leaves_a_valid_session(
    store: Store, at: int
) -> None:
    left = [at]

    def breaks(*, event: Any, **_: Any) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise ValueError("broken plugin")

    def book() -> str:
        return "booked"

    model = ScriptedModel([call("book")] if at < 2 else [call("book"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[book])
    talk = Talk(agent, store, plugins=[plugin_with("on_event_callback", breaks)])
    assert "broken plugin" in str(await talk.fails())
    await talk.check_goes_on(model)


@pytest.mark.spec(156)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_callbacks_may_be_plain_or_async(memory: Store, kind: str) -> None:
    said = types.Content(role="model", parts=[types.Part(text="Not today.")])

    def plain(callback_context: Any) -> types.Content:
        return said

    async def waiting(callback_context: Any) -> types.Content:
        return said

    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(),
        before_agent_callback=plain if kind == "plain" else waiting,
    )
    (event,) = await Talk(agent, memory).say()
    assert event.content == said and event.author == "clerk"


@pytest.mark.spec(65, 157)
async def test_the_first_answer_of_a_list_counts_and_later_ones_are_not_asked(
    memory: Store,
) -> None:
    asked: list[str] = []

    def make(name: str, text: str | None) -> Any:
        def callback(callback_context: Any, llm_request: Any) -> LlmResponse | None:
            asked.append(name)
            if text is None:
                return None
            content = types.Content(role="model", parts=[types.Part(text=text)])
            return LlmResponse(content=content)

        return callback

    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(),
        before_model_callback=[make("a", None), make("b", "B"), make("c", "C")],
    )
    (event,) = await Talk(agent, memory).say()
    assert asked == ["a", "b"]
    assert event.content and event.content.parts and event.content.parts[0].text == "B"


@pytest.mark.parametrize("falsy", ["", 0, False, [], {}, ()])
@pytest.mark.parametrize(
    "hook",
    [
        "before_agent_callback",
        "after_agent_callback",
        "before_model_callback",
        "after_model_callback",
    ],
)
async def test_a_false_answer_counts_as_none(memory: Store, hook: str, falsy: Any) -> None:
    hooks: dict[str, Any] = {hook: lambda *_, **__: falsy}
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Done."]), **hooks)
    plugin = plugin_with(hook, lambda **_: falsy)
    (event,) = await Talk(agent, memory, plugins=[plugin]).say()
    assert event.content and event.content.parts and event.content.parts[0].text == "Done."


@pytest.mark.parametrize("falsy", ["", 0, {}])
@pytest.mark.parametrize("hook", ["on_model_error_callback", "on_event_callback"])
async def test_a_false_answer_is_refused_where_google_adk_breaks_on_it(
    memory: Store, hook: str, falsy: Any
) -> None:
    model, _ = scene(hook)
    agent = LlmAgent(name="clerk", model=model)
    talk = Talk(agent, memory, plugins=[plugin_with(hook, lambda **_: falsy)])
    assert isinstance(await talk.fails(), CallbackError)


@pytest.mark.parametrize("value", ["text", [1], 0, False, "", 3])
@pytest.mark.parametrize("from_plugin", [True, False])
@pytest.mark.parametrize(
    "hook", ["before_tool_callback", "after_tool_callback", "on_tool_error_callback"]
)
async def test_what_a_tool_hook_returns_is_the_result(
    memory: Store, hook: str, from_plugin: bool, value: Any
) -> None:
    model, tools = scene(hook)
    model.add("Done.")
    hooks: dict[str, Any] = {} if from_plugin else {hook: lambda *_, **__: value}
    plugins = [plugin_with(hook, lambda **_: value)] if from_plugin else []
    agent = LlmAgent(name="clerk", model=model, tools=tools, **hooks)
    events = await Talk(agent, memory, plugins=plugins).say()
    (answer,) = events[1].get_function_responses()
    assert answer.response == {"result": value}


async def test_the_last_false_result_of_a_list_of_tool_callbacks_counts(memory: Store) -> None:
    """As in google-adk; for on_tool_error the first that is not None."""

    async def answer(hook: str, *values: Any) -> Any:
        model, tools = scene(hook)
        model.add("Done.")
        hooks: dict[str, Any] = {hook: [lambda *_, value=value, **__: value for value in values]}
        agent = LlmAgent(name="clerk", model=model, tools=tools, **hooks)
        events = await Talk(agent, memory).say()
        return events[1].get_function_responses()[0].response

    for hook in ("before_tool_callback", "after_tool_callback"):
        assert await answer(hook, {}, None) == {"result": "booked"}
        assert await answer(hook, {}, {"a": 1}) == {"a": 1}
        assert await answer(hook, None, {}) == {}
    assert await answer("on_tool_error_callback", "", "later") == {"result": ""}
