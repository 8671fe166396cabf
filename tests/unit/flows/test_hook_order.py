"""All hooks of a turn with one tool call, in their order: the plugin's first, then the agent's."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.testing import Conversation, ScriptedModel, call

HOOKS = (
    "before_agent",
    "after_agent",
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
)
RUN_HOOKS = ("on_user_message", "before_run", "on_event", "after_run")


def plugin_noting(notes: list[str], answers: dict[str, Any]) -> BasePlugin:
    def hook(name: str) -> Any:
        async def run(self: Any, **_: Any) -> Any:
            notes.append(f"plugin {name}")
            return answers.get(f"plugin {name}")

        return run

    members = {f"{name}_callback": hook(name) for name in (*HOOKS, *RUN_HOOKS)}
    return type("Noting", (BasePlugin,), members)(name="noting")


async def hooks_of(*turns: Any, **answers: Any) -> list[str]:
    """Run one turn and return the hooks that were called; `answers` maps a hook to its answer."""
    notes: list[str] = []
    given = {name.replace("__", " "): value for name, value in answers.items()}

    def callback(name: str) -> Any:
        def run(**_: Any) -> Any:
            notes.append(f"agent {name}")
            return given.get(f"agent {name}")

        return run

    def tool(fail: bool = False) -> str:
        notes.append("tool")
        if fail:
            raise RuntimeError("no")
        return "ok"

    class Model(ScriptedModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            notes.append("model")
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    agent = LlmAgent(
        name="clerk",
        model=Model(list(turns)),  # pyright: ignore[reportCallIssue]
        tools=[tool],
        **{f"{name}_callback": callback(name) for name in HOOKS},
    )
    await Conversation(agent, plugins=[plugin_noting(notes, given)]).say("Go")
    return notes


def both(name: str) -> list[str]:
    return [f"plugin {name}", f"agent {name}"]


BEGIN = ["plugin on_user_message", "plugin before_run", *both("before_agent")]
END = ["plugin on_event", *both("after_agent"), "plugin after_run"]
MODEL = [*both("before_model"), "model", *both("after_model")]


@pytest.mark.spec(10, 18, 24, 45, 133, 157, 158)
async def test_the_hooks_of_a_turn_with_a_tool_are_called_in_the_specified_order() -> None:
    assert await hooks_of(call("tool"), "Done.") == [
        *BEGIN,
        *MODEL,
        "plugin on_event",
        *both("before_tool"),
        "tool",
        *both("after_tool"),
        "plugin on_event",
        *MODEL,
        *END,
    ]


@pytest.mark.spec(113, 157)
async def test_a_plugin_s_answer_before_the_model_skips_the_agent_s_hook_and_the_model() -> None:
    answer = LlmResponse.model_validate({"content": {"role": "model", "parts": [{"text": "No."}]}})
    assert await hooks_of(plugin__before_model=answer) == [*BEGIN, "plugin before_model", *END]


@pytest.mark.spec(118, 157)
async def test_a_model_s_error_goes_to_the_plugin_and_then_to_the_agent() -> None:
    answer = LlmResponse.model_validate({"content": {"role": "model", "parts": [{"text": "No."}]}})
    assert await hooks_of(RuntimeError("quota"), agent__on_model_error=answer) == [
        *BEGIN,
        *both("before_model"),
        "model",
        *both("on_model_error"),
        *both("after_model"),
        *END,
    ]


@pytest.mark.spec(133, 157)
async def test_an_answer_before_the_tool_skips_the_tool_and_not_the_hooks_behind_it() -> None:
    called = await hooks_of(call("tool"), "Done.", agent__before_tool={"by": "callback"})
    start = called.index("plugin before_tool")
    assert called[start : start + 4] == [*both("before_tool"), *both("after_tool")]


@pytest.mark.spec(134, 157)
async def test_a_tool_s_error_goes_to_the_plugin_then_to_the_agent_then_to_after_tool() -> None:
    answer = {"by": "callback"}
    called = await hooks_of(call("tool", fail=True), "Done.", agent__on_tool_error=answer)
    start = called.index("tool")
    assert called[start : start + 5] == ["tool", *both("on_tool_error"), *both("after_tool")]
