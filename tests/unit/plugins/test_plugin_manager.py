"""PluginManager: order, first answer, errors, closing, and what is asked at all."""

import asyncio
import inspect
import logging
from typing import Any

import pytest

from ostinato.context._ports import Hooks
from ostinato.context.invocation import NoHooks
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.plugins.plugin_manager import HOOKS, PluginManager

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "on_user_message_callback": ("invocation_context", "user_message"),
    "before_run_callback": ("invocation_context",),
    "on_event_callback": ("invocation_context", "event"),
    "after_run_callback": ("invocation_context",),
    "before_agent_callback": ("agent", "callback_context"),
    "after_agent_callback": ("agent", "callback_context"),
    "before_model_callback": ("callback_context", "llm_request"),
    "after_model_callback": ("callback_context", "llm_response"),
    "on_model_error_callback": ("callback_context", "llm_request", "error"),
    "before_tool_callback": ("tool", "tool_args", "tool_context"),
    "after_tool_callback": ("tool", "tool_args", "tool_context", "result"),
    "on_tool_error_callback": ("tool", "tool_args", "tool_context", "error"),
    "on_agent_error_callback": ("agent", "callback_context", "error"),
    "on_run_error_callback": ("invocation_context", "error"),
}
TOLD = {"after_run_callback", "on_agent_error_callback", "on_run_error_callback"}


def make_plugin(name: str, seen: list[Any], hook: str, answer: Any, *, plain: bool = False) -> Any:
    """Return a plugin that overrides one hook, which notes its name and its arguments."""

    async def coroutine(self: BasePlugin, **kwargs: Any) -> Any:
        seen.append((self.name, kwargs))
        return answer

    def function(self: BasePlugin, **kwargs: Any) -> Any:
        seen.append((self.name, kwargs))
        return answer

    return type("Plugin", (BasePlugin,), {hook: function if plain else coroutine})(name)


def arguments_of(hook: str) -> dict[str, Any]:
    return {name: f"<{name}>" for name in ARGUMENTS[hook]}


@pytest.mark.spec(158, 160)
@pytest.mark.parametrize("hook", HOOKS)
async def test_every_hook_takes_its_keywords_and_answers_none(hook: str) -> None:
    parameters = inspect.signature(getattr(BasePlugin("p"), hook)).parameters.values()
    assert tuple(parameter.name for parameter in parameters) == ARGUMENTS[hook]
    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    assert await getattr(BasePlugin("p"), hook)(**arguments_of(hook)) is None


@pytest.mark.spec(158)
def test_these_are_all_the_hooks() -> None:
    assert set(ARGUMENTS) == set(HOOKS)
    own = {name for name in vars(BasePlugin) if name.endswith("_callback")}
    assert own == set(HOOKS)


@pytest.mark.spec(157, 159)
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("hook", sorted(set(HOOKS) - TOLD))
async def test_the_first_answer_in_the_order_of_registration_wins(hook: str, plain: bool) -> None:
    seen: list[Any] = []
    manager = PluginManager(
        [
            make_plugin("one", seen, hook, None, plain=plain),
            make_plugin("two", seen, hook, {}, plain=plain),
            make_plugin("three", seen, hook, {"never": "asked"}, plain=plain),
        ]
    )
    assert await getattr(manager, f"run_{hook}")(**arguments_of(hook)) == {}
    assert seen == [("one", arguments_of(hook)), ("two", arguments_of(hook))]


@pytest.mark.spec(159)
@pytest.mark.parametrize("hook", HOOKS)
async def test_plugins_that_do_not_override_a_hook_answer_nothing(hook: str) -> None:
    for manager in (PluginManager(), PluginManager([BasePlugin("p")]), NoHooks()):
        assert await getattr(manager, f"run_{hook}")(**arguments_of(hook)) is None
        assert not manager.overrides(hook)
    assert PluginManager([make_plugin("p", [], hook, None)]).overrides(hook)


def test_a_hook_set_on_the_object_counts_as_overridden() -> None:
    plugin: Any = BasePlugin("p")
    plugin.before_run_callback = lambda *, invocation_context: None
    manager = PluginManager([plugin])
    assert manager.overrides("before_run_callback")
    assert not manager.overrides("after_run_callback")


def test_the_manager_is_the_hooks_of_an_invocation() -> None:
    hooks: Hooks = PluginManager()
    nothing: Hooks = NoHooks()
    assert list(hooks.plugins) == list(nothing.plugins) == []


@pytest.mark.spec(159)
@pytest.mark.parametrize("hook", sorted(set(HOOKS) - TOLD | {"after_run_callback"}))
async def test_an_error_names_plugin_and_hook(hook: str) -> None:
    async def fail(self: BasePlugin, **kwargs: Any) -> None:
        raise KeyError("boom")

    manager = PluginManager([type("Plugin", (BasePlugin,), {hook: fail})("p")])
    with pytest.raises(RuntimeError) as raised:
        await getattr(manager, f"run_{hook}")(**arguments_of(hook))
    assert str(raised.value) == f"Error in plugin 'p' during '{hook}' callback: 'boom'"
    assert isinstance(raised.value.__cause__, KeyError)


@pytest.mark.spec(158)
@pytest.mark.parametrize("hook", ["on_agent_error_callback", "on_run_error_callback"])
async def test_every_plugin_is_told_of_an_error(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    async def fail(self: BasePlugin, **kwargs: Any) -> None:
        raise KeyError("boom")

    manager = PluginManager(
        [
            type("Plugin", (BasePlugin,), {hook: fail})("bad"),
            make_plugin("one", seen, hook, "ignored"),
            make_plugin("two", seen, hook, None),
        ]
    )
    with caplog.at_level(logging.ERROR):
        assert await getattr(manager, f"run_{hook}")(**arguments_of(hook)) is None
    assert [name for name, _ in seen] == ["one", "two"]
    assert [record.getMessage() for record in caplog.records] == [
        f"Error in plugin 'bad' during '{hook}' callback: 'boom'"
    ]


async def test_cancelling_is_not_an_error_of_the_plugin() -> None:
    class Plugin(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        context: Any = None
        await PluginManager([Plugin("p")]).run_before_run_callback(invocation_context=context)


@pytest.mark.spec(159)
def test_names_are_unique_and_found() -> None:
    first = BasePlugin("p")
    manager = PluginManager([first])
    assert manager.get_plugin("p") is first
    assert manager.get_plugin("q") is None
    with pytest.raises(ValueError, match="'p' already registered"):
        manager.register_plugin(BasePlugin("p"))
    assert manager.plugins == [first]
    with pytest.raises(ValueError, match="'p'"):
        PluginManager([first, BasePlugin("p")])


@pytest.mark.spec(158)
async def test_closing_tries_every_plugin_and_collects_the_errors() -> None:
    closed: list[str] = []

    class Good(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)

    class Plain(BasePlugin):
        def close(self) -> Any:
            closed.append(self.name)

    class Bad(BasePlugin):
        async def close(self) -> None:
            raise KeyError("k")

    class Slow(BasePlugin):
        async def close(self) -> None:
            await asyncio.Event().wait()

    plugins: list[BasePlugin] = [Bad("bad"), Slow("slow"), Good("good"), Plain("plain")]
    with pytest.raises(RuntimeError) as raised:
        await PluginManager(plugins, close_timeout=0.01).close()
    assert str(raised.value) == "Failed to close plugins: 'bad': KeyError, 'slow': TimeoutError"
    assert closed == ["good", "plain"]
    await PluginManager(plugins[2:]).close()
    assert closed == ["good", "plain"] * 2
    skipping = PluginManager(plugins)
    skipping.set_skip_closing_plugins(True)
    await skipping.close()
    await NoHooks().close()
