"""Agents, models and toolsets whose methods return something else than they should: the error names
the agent, the method and the remedy."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock

import pytest

from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.errors import AgentConfigError
from ostinato.models import BaseLlm, LlmResponse
from ostinato.testing import ScriptedModel
from ostinato.tools.base_toolset import BaseToolset
from tests.unit.flows.kit import Store, Talk


class Returns(BaseAgent):
    async def _run_async_impl(self, ctx: Any) -> Any:
        return None


class Yields(BaseAgent):
    def _run_async_impl(self, ctx: Any) -> Any:
        yield None


class Nothing(BaseAgent):
    def _run_async_impl(self, ctx: Any) -> Any:
        return None


class ReturningModel(BaseLlm):
    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        return LlmResponse()


class YieldingModel(BaseLlm):
    def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        yield LlmResponse()


WRONG: list[tuple[BaseAgent, list[str]]] = [
    (Returns(name="clerk"), ["Returns._run_async_impl returned a coroutine", "without `yield`"]),
    (Yields(name="clerk"), ["Yields._run_async_impl returned a generator", "`def` with `yield`"]),
    (Nothing(name="clerk"), ["Nothing._run_async_impl returned a NoneType"]),
    (
        LlmAgent(name="clerk", model=ReturningModel(model="m")),
        ["ReturningModel.generate_content_async returned a coroutine", "each LlmResponse"],
    ),
    (
        LlmAgent(name="clerk", model=YieldingModel(model="m")),
        ["YieldingModel.generate_content_async returned a generator", "each LlmResponse"],
    ),
]


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize(("agent", "words"), WRONG)
async def test_a_method_that_is_no_async_generator_is_named(
    memory: Store, agent: BaseAgent, words: list[str], below: bool
) -> None:
    agent = agent.clone()
    root = SequentialAgent(name="line", sub_agents=[agent]) if below else agent
    error = await Talk(root, memory).fails()
    assert isinstance(error, AgentConfigError)
    for word in ("Agent 'clerk'", "Define it with `async def`", *words):
        assert word in str(error)


async def test_a_mocked_toolset_names_the_method_that_needs_an_answer(memory: Store) -> None:
    mock = AsyncMock(spec=BaseToolset)
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Hi."]), tools=[mock])
    error = await Talk(agent, memory).fails()
    assert isinstance(error, AgentConfigError)
    for word in ("Agent 'clerk'", "AsyncMock", "get_auth_config", "AuthConfig or None"):
        assert word in str(error)
    mock.get_auth_config.return_value = None
    assert await Talk(agent, memory).say()
