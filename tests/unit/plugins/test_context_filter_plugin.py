"""ContextFilterPlugin: which contents stay, and that calls and responses stay together."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato import types
from ostinato.agents import Agent
from ostinato.errors import AgentConfigError
from ostinato.models.llm_request import LlmRequest
from ostinato.plugins.context_filter_plugin import ContextFilterPlugin
from ostinato.testing import Conversation, ScriptedModel, call


def content(text: str) -> types.Content:
    """Return a content: "q.." of the user, "a.." of the model, "c1" a call, "r1" its response;
    "c" and "r" are a pair without ids."""
    kind, number = text[0], text[1:] or None
    if kind == "c":
        part = types.Part(function_call=types.FunctionCall(name="f", id=number))
        return types.Content(role="model", parts=[part])
    if kind == "r":
        part = types.Part(function_response=types.FunctionResponse(name="f", id=number))
        return types.Content(role="user", parts=[part])
    role = "user" if kind == "q" else "model"
    return types.Content(role=role, parts=[types.Part(text=text)])


def shown(contents: list[types.Content]) -> str:
    """Return contents in the notation of `content`."""
    words: list[str] = []
    for part in (part for item in contents for part in item.parts or []):
        if part.function_call:
            words.append(f"c{part.function_call.id or ''}")
        elif part.function_response:
            words.append(f"r{part.function_response.id or ''}")
        else:
            words.append(part.text or "")
    return " ".join(words)


async def left(before: str, **settings: Any) -> str:
    request = LlmRequest(contents=[content(word) for word in before.split()])
    plugin = ContextFilterPlugin(**settings)
    context: Any = None
    assert await plugin.before_model_callback(callback_context=context, llm_request=request) is None
    return shown(request.contents)


@pytest.mark.parametrize(
    ("keep", "before", "after"),
    [
        (1, "q1 a1 q2 c1 r1 a2 q3", "q3"),
        (2, "q1 a1 q2 c1 r1 a2 q3", "q2 c1 r1 a2 q3"),
        (3, "q1 a1 q2 c1 r1 a2 q3", "q1 a1 q2 c1 r1 a2 q3"),
        (9, "q1 a1 q2", "q1 a1 q2"),
        (None, "q1 a1 q2", "q1 a1 q2"),
        (0, "q1 a1 q2", "q1 a1 q2"),
        (-1, "q1 a1 q2", "q1 a1 q2"),
        (1, "q1 a1 q2 q2b a2 q3 q3b", "q3 q3b"),
        (2, "q1 a1 q2 q2b a2 q3 q3b", "q2 q2b a2 q3 q3b"),
        (1, "q1 q2 q3", "q1 q2 q3"),
        (1, "a0 q1 a1 q2", "q2"),
        (2, "a0 q1 a1 q2", "a0 q1 a1 q2"),
        # A response that came late keeps its call, and what lies between.
        (1, "q1 c1 q2 r1 a2 q3", "q3"),
        (2, "q1 c1 q2 r1 a2 q3", "c1 q2 r1 a2 q3"),
        (1, "q1 c q2 r", "c q2 r"),
        (2, "q1 c1 r1 q2 a2 r1 a3 q3", "c1 r1 q2 a2 r1 a3 q3"),
        (1, "q1 c r c r q2 c r", "q2 c r"),
        (1, "q1 r1 a1 q2 r1", "q1 r1 a1 q2 r1"),
        (1, "", ""),
    ],
)
async def test_the_last_invocations_stay(keep: int | None, before: str, after: str) -> None:
    assert await left(before, num_invocations_to_keep=keep) == after


@pytest.mark.parametrize(
    ("count", "after"),
    [
        (3, "q1 a1 q2 a2 q3"),
        (5, "q1 a1 q2 a2 q3 a3 q4 a4 q5"),
        (6, "q4 a4 q5 a5 q6"),
        (7, "q5 a5 q6 a6 q7"),
    ],
)
async def test_several_may_go_at_once(count: int, after: str) -> None:
    before = " ".join(f"q{n} a{n}" for n in range(1, count + 1))[: -len(f" a{count}")]
    assert await left(before, num_invocations_to_keep=3, remove_amount=3) == after


def test_remove_amount_is_positive() -> None:
    with pytest.raises(AgentConfigError, match="remove_amount is 0"):
        ContextFilterPlugin(num_invocations_to_keep=1, remove_amount=0)


async def test_a_filter_of_ones_own() -> None:
    assert await left("q1 a1 q2", custom_filter=lambda contents: contents[-1:]) == "q2"
    both = {"num_invocations_to_keep": 2, "custom_filter": lambda contents: contents[1:]}
    assert await left("q1 a1 q2 a2 q3", **both) == "a2 q3"


@pytest.mark.parametrize(
    ("dropped", "after"),
    [(1, "q1 a1 q2"), (2, "q1 a1 q2"), (0, "c1 r1 a1 q2"), (3, "q1 c1 r1 q2")],
)
async def test_a_filter_cannot_part_a_call_from_its_response(dropped: int, after: str) -> None:
    def drop(contents: list[types.Content]) -> list[types.Content]:
        return [item for index, item in enumerate(contents) if index != dropped]

    assert await left("q1 c1 r1 a1 q2", custom_filter=drop) == after


async def test_a_call_that_waits_may_stay() -> None:
    assert await left("q1 c1 q2", custom_filter=lambda contents: contents[1:]) == "c1 q2"


async def test_parts_beside_a_lost_half_stay() -> None:
    both = content("c1")
    both.parts = [types.Part(text="Look."), *(both.parts or [])]
    request = LlmRequest(contents=[both, content("r1"), content("q2")])
    plugin = ContextFilterPlugin(custom_filter=lambda contents: [contents[0], contents[2]])
    context: Any = None
    await plugin.before_model_callback(callback_context=context, llm_request=request)
    assert shown(request.contents) == "Look. q2"


@pytest.mark.parametrize("broken", [lambda contents: 1 / 0, lambda contents: None])
async def test_a_filter_that_fails_changes_nothing(
    broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert await left("q1 a1 q2", custom_filter=broken) == "q1 a1 q2"
    assert "custom_filter" in caplog.text


@given(
    st.lists(st.sampled_from(["q", "a", "c1 r1", "c2 q r2", "c r", "c q r", "c3 r3 q r3"])),
    st.integers(1, 4),
    st.integers(0, 12),
)
async def test_no_response_loses_its_call(turns: list[str], keep: int, cut: int) -> None:
    before = " ".join(turns)
    for settings in (
        {"num_invocations_to_keep": keep},
        {"custom_filter": lambda contents: contents[cut:]},
    ):
        calls: set[str] = set()
        for word in (await left(before, **settings)).split():
            if word[0] == "c":
                calls.add(word[1:])
            assert word[0] != "r" or word[1:] in calls


@pytest.mark.spec(158)
async def test_a_run_shows_less_and_stores_all() -> None:
    def f() -> int:
        """Give one."""
        return 1

    model = ScriptedModel(["A1.", call("f"), "A2."])
    plugins = [ContextFilterPlugin(num_invocations_to_keep=1)]
    talk = Conversation(Agent(name="root", model=model, tools=[f]), plugins=plugins)
    await talk.say("Q1")
    await talk.say("Q2")
    assert [shown(request.contents) for request in model.requests] == ["Q1", "Q2", "Q2 c r"]
    assert len((await talk.session()).events) == 6
