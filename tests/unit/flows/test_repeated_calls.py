"""Calls in circles: same tool, arguments and result again and again are not run for ever."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent, LoopAgent, RunConfig
from ostinato.errors import ModelRetriesExceededError
from ostinato.testing import ScriptedModel, call, final_text

from .kit import Store, Talk


class Tools:
    """A tool that counts its runs and answers as scripted."""

    def __init__(self, *answers: Any) -> None:
        self.runs = 0
        self.answers = answers

    def look(self, where: str) -> Any:
        """Look somewhere."""
        self.runs += 1
        return self.answers[(self.runs - 1) % len(self.answers)]


def calling(times: int, **args: Any) -> list[Any]:
    return [call("look", **(args or {"where": "here"})) for _ in range(times)]


def answers(events: list[Any]) -> list[Any]:
    return [r.response for e in events for r in e.get_function_responses()]


async def test_a_call_that_gave_the_same_result_too_often_is_explained_instead_of_run(
    store: Store,
) -> None:
    tools = Tools("nothing")
    model = ScriptedModel([*calling(4), "I give up."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools.look]), store)
    events = await talk.say(run_config=RunConfig(max_repeated_calls=3))
    assert tools.runs == 3
    assert answers(events)[:3] == [{"result": "nothing"}] * 3
    assert "3 times in a row" in answers(events)[3]["error"]
    assert final_text(events) == "I give up."
    await talk.check_goes_on(model)


async def test_a_model_that_goes_on_with_it_is_stopped(memory: Store) -> None:
    tools = Tools("nothing")
    model = ScriptedModel(calling(9))
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools.look]), memory)
    error = await talk.fails(run_config=RunConfig(max_repeated_calls=2, max_model_retries=1))
    assert isinstance(error, ModelRetriesExceededError)
    assert (tools.runs, len(model.requests)) == (2, 4)


async def test_by_default_a_tool_may_be_polled_without_limit(memory: Store) -> None:
    for config in (None, RunConfig(), RunConfig(max_repeated_calls=0)):
        tools = Tools("nothing")
        model = ScriptedModel([*calling(25), "Done."])
        agent = LlmAgent(name="clerk", model=model, tools=[tools.look])
        events = await Talk(agent, memory).say(run_config=config)
        assert tools.runs == 25
        assert final_text(events) == "Done."


@pytest.mark.parametrize(
    "script",
    [
        [*calling(2), *calling(1, where="there"), *calling(2)],  # other arguments between
        [*calling(2), call("other"), *calling(1, where="there"), *calling(2)],
    ],
)
async def test_other_arguments_begin_to_count_anew(memory: Store, script: list[Any]) -> None:
    def other() -> str:
        return "x"

    tools = Tools("nothing")
    model = ScriptedModel([*script, "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools.look, other]), memory)
    events = await talk.say(run_config=RunConfig(max_repeated_calls=2))
    assert tools.runs == 5
    assert not any("error" in answer for answer in answers(events))


async def test_polling_that_sees_something_new_goes_on(memory: Store) -> None:
    tools = Tools("1%", "2%")
    model = ScriptedModel([*calling(8), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools.look]), memory)
    await talk.say(run_config=RunConfig(max_repeated_calls=2))
    assert tools.runs == 8


async def test_each_run_of_an_agent_counts_for_itself(memory: Store) -> None:
    tools = Tools("nothing")
    model = ScriptedModel([*calling(1), "Looked."] * 4)
    clerk = LlmAgent(name="clerk", model=model, tools=[tools.look])
    talk = Talk(LoopAgent(name="loop", sub_agents=[clerk], max_iterations=4), memory)
    await talk.say(run_config=RunConfig(max_repeated_calls=2))
    assert tools.runs == 4


async def test_equal_calls_of_one_response_count_once(memory: Store) -> None:
    tools = Tools("nothing")
    model = ScriptedModel([calling(24), calling(24), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools.look]), memory)
    events = await talk.say(run_config=RunConfig(max_repeated_calls=3))
    assert tools.runs == 48
    assert final_text(events) == "Done."
