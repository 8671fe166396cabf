"""Arguments of the wrong type are refused where they are written; lists come in any form."""

from collections.abc import Callable
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

import pytest
from pydantic import ValidationError

from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.code_executors import BaseCodeExecutor
from ostinato.errors import AgentConfigError, InputValidationError
from ostinato.planners import BasePlanner
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions import InMemorySessionService
from ostinato.tools.base_toolset import BaseToolset


def add(a: int) -> int:
    """Add."""
    return a + 1


def hook(callback_context: Any) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    "field, value",
    [
        ("instruction", ["a"]),
        ("instruction", 3),
        ("instruction", {}),
        ("global_instruction", 3),
        ("static_instruction", 5),
        ("static_instruction", object()),
        ("planner", "x"),
        ("planner", BasePlanner),
        ("code_executor", "x"),
        ("parent_agent", "x"),
        ("sub_agents", None),
        ("sub_agents", "x"),
        ("tools", None),
        ("tools", {"a": 1}),
        ("tools", add),
    ],
)
def test_a_field_of_the_wrong_type_is_named(field: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=rf"LlmAgent\n{field}\n"):
        LlmAgent(**{"name": "a", field: value})


def test_mocks_of_the_right_class_are_taken() -> None:
    agent = LlmAgent(
        name="a",
        planner=MagicMock(spec=BasePlanner),
        code_executor=MagicMock(spec=BaseCodeExecutor),
        instruction=MagicMock(),
    )
    assert agent.planner and agent.code_executor


@pytest.mark.parametrize(
    "make", [tuple, set, frozenset, lambda items: (one for one in items), lambda items: [*items]]
)
def test_several_come_in_any_form(make: Callable[[list[Any]], Any]) -> None:
    agent = LlmAgent(name="a", tools=make([add]), before_agent_callback=make([hook]))
    assert agent.tools == [add] and agent.before_agent_callback == [hook]
    child = BaseAgent(name="b")
    for kind in (LlmAgent, SequentialAgent, BaseAgent):
        assert kind(name="c", sub_agents=make([child.clone()])).sub_agents[0].name == "b"
    assert BaseAgent(name="d", input_guardrails=make([hook])).input_guardrails


@pytest.mark.parametrize("service", [None, "sqlite:///x", InMemorySessionService])
def test_a_runner_names_what_is_no_session_service(service: Any) -> None:
    with pytest.raises(AgentConfigError, match="session_service takes a BaseSessionService"):
        Runner(agent=LlmAgent(name="a"), app_name="x", session_service=service)


def test_a_runner_takes_mocks_of_a_service() -> None:
    for service in (MagicMock(), AsyncMock(spec=InMemorySessionService)):
        assert Runner(agent=LlmAgent(name="a"), app_name="x", session_service=service)


@pytest.mark.parametrize("agent", ["x", LlmAgent, 3])
def test_a_runner_names_what_is_no_agent(agent: Any) -> None:
    with pytest.raises(AgentConfigError, match="agent takes an agent"):
        InMemoryRunner(agent=agent)


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"run_config": {"max_llm_calls": 3}}, "run_config takes a RunConfig"),
        ({"run_config": "x"}, "run_config takes a RunConfig"),
        ({"state_delta": [1]}, "state_delta takes a dict"),
    ],
)
async def test_a_run_names_a_setting_of_the_wrong_type(settings: Any, text: str) -> None:
    runner = InMemoryRunner(agent=LlmAgent(name="a", model="offline"), app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    with pytest.raises(InputValidationError, match=text):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message="hi", **settings):
            pass


async def test_a_session_names_a_state_that_is_no_dict() -> None:
    with pytest.raises(InputValidationError, match="state takes a dict"):
        await InMemorySessionService().create_session(
            app_name="app", user_id="u", state=cast(Any, [1])
        )


class Functions(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> Any:
        return [add]


class Texts(BaseAgent):
    async def _run_async_impl(self, ctx: Any) -> Any:
        yield "x"


@pytest.mark.parametrize(
    "agent, text",
    [
        (LlmAgent(name="a", model="offline", tools=[Functions()]), "toolset Functions returned"),
        (Texts(name="a"), "yielded a str and not an Event"),
    ],
)
async def test_a_run_names_code_that_gives_the_wrong_type(agent: BaseAgent, text: str) -> None:
    with pytest.raises(AgentConfigError, match=text):
        await agent.run("hi")
