"""`timeout` and `retry_config` of an agent hold wherever it runs, as in a graph."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.apps import App
from ostinato.errors import RunCancelledError
from ostinato.events import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import InMemoryRunner
from ostinato.testing import FunctionModel, call, final_text
from ostinato.tools import AgentTool
from ostinato.workflow import START, FunctionNode, NodeTimeoutError, RetryConfig, Workflow
from ostinato.workflow.node_errors import DynamicNodeFailError
from tests.support.optionals import parts_of, present

TWICE = RetryConfig(max_attempts=2, initial_delay=0)
WHO: dict[str, Any] = {"user_id": "ann", "session_id": "one"}


def said(text: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), **fields)


class Failing(BaseLlm):
    """A model that fails some times before it answers.

    Attributes:
      failures: how often it fails.
      partial: whether it sends a piece of its answer first.
      asked: how often it was asked.
    """

    model: str = "failing"
    failures: int = 1
    partial: bool = False
    asked: int = 0

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked += 1
        if self.partial:
            yield said("Hel", partial=True)
        if self.asked <= self.failures:
            raise ConnectionError("no line")
        yield said("Hello.")


class Silent(BaseLlm):
    """A model that never answers."""

    model: str = "silent"

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await asyncio.Event().wait()
        yield said("never")


async def run(root: Any, mode: StreamingMode = StreamingMode.NONE, **app: Any) -> list[Event]:
    runner = InMemoryRunner(app=App(name="limits", root_agent=root, **app))
    runner.auto_create_session = True
    config = RunConfig(streaming_mode=mode)
    return [e async for e in runner.run_async(**WHO, new_message="Hi", run_config=config)]


def agent(model: BaseLlm, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=model, **fields)


def as_root(one: LlmAgent) -> Any:
    return one


def in_shell(one: LlmAgent) -> Any:
    return SequentialAgent(name="shell", sub_agents=[one])


def in_graph(one: LlmAgent) -> Any:
    return Workflow(name="graph", edges=[(START, one)])


@pytest.mark.parametrize("place", [as_root, in_shell, in_graph])
async def test_an_agent_that_takes_too_long_is_stopped(place: Any) -> None:
    with pytest.raises(NodeTimeoutError) as raised:
        await run(place(agent(Silent(), timeout=0.01)))
    assert (raised.value.node_name, raised.value.timeout) == ("clerk", 0.01)


async def test_a_shell_agent_s_limit_holds_for_the_agents_below_it() -> None:
    root = SequentialAgent(name="shell", timeout=0.01, sub_agents=[agent(Silent())])
    with pytest.raises(NodeTimeoutError) as raised:
        await run(root)
    assert raised.value.node_name == "shell"


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
@pytest.mark.parametrize("place", [as_root, in_shell, in_graph])
async def test_a_failed_agent_is_run_again(place: Any, mode: StreamingMode) -> None:
    model = Failing(partial=mode is StreamingMode.SSE)
    events = await run(place(agent(model, retry_config=TWICE)), mode)
    assert (final_text(events), model.asked) == ("Hello.", 2)


@pytest.mark.parametrize("place", [as_root, in_shell, in_graph])
async def test_attempts_are_counted_once(place: Any) -> None:
    model = Failing(failures=9)
    with pytest.raises(ConnectionError):
        await run(place(agent(model, retry_config=TWICE)))
    assert model.asked == 2


async def test_a_called_agent_is_run_again() -> None:
    model = Failing()
    inner = agent(model, retry_config=TWICE)
    assert await AgentTool(inner).run_async(args={"request": "Hi"}, tool_context=await context())
    assert model.asked == 2


async def context() -> Any:
    """A context of a tool in a run."""
    found: list[Any] = []

    def keep(callback_context: Any) -> types.Content:
        found.append(callback_context)
        return types.Content(role="model", parts=[types.Part(text="kept")])

    await run(agent(Failing(failures=0), before_agent_callback=keep))
    return found[0]


async def test_other_errors_than_those_named_are_not_retried() -> None:
    model = Failing()
    config = TWICE.model_copy(update={"exceptions": ["KeyError"]})
    with pytest.raises(ConnectionError):
        await run(agent(model, retry_config=config))
    assert model.asked == 1


class Speaking(BaseAgent):
    """An agent that raises after its first event, or at once.

    Attributes:
      error: what it raises.
      speaks: whether it yields an event first.
      runs: how often it ran.
    """

    error: Any = None
    speaks: bool = True
    runs: int = 0

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        self.runs += 1
        if self.speaks:
            yield Event(author=self.name, invocation_id=ctx.invocation_id)
        raise self.error


@pytest.mark.parametrize(
    ("error", "speaks"), [(KeyError("late"), True), (RunCancelledError("stop"), False)]
)
async def test_stored_events_and_cancelled_runs_are_not_repeated(
    error: Exception, speaks: bool
) -> None:
    one = Speaking(name="clerk", error=error, speaks=speaks, retry_config=TWICE)
    with pytest.raises(type(error)):
        await run(one)
    assert one.runs == 1


async def test_guardrails_of_the_app_hold_for_the_second_attempt() -> None:
    checked: list[str] = []

    def check(context: Any, content: types.Content) -> None:
        checked.append(present(parts_of(content)[0].text))

    model = Failing()
    root = agent(model, retry_config=TWICE)
    await run(root, output_guardrails=[check])
    assert checked == ["Hello."]


class Counter:
    """A tool that hangs in its first call.

    Attributes:
      calls: how often it was called.
      told: what the model was told of its calls, in its last request.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.told: list[Any] = []

    async def pay(self) -> str:
        self.calls += 1
        if self.calls == 1:
            await asyncio.Event().wait()
        return "paid"

    def model(self, request: Any) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        self.told = [one.function_response.response for one in parts if one.function_response]
        return "Done." if self.told else call("pay")


CUT = {
    "error": "NodeTimeoutError: Node 'clerk' timed out after 0.05 seconds. The call was cancelled "
    "before it finished; its outcome is unknown."
}


@pytest.mark.parametrize("place", [as_root, in_shell, in_graph])
async def test_the_model_is_told_that_the_outcome_of_a_call_that_a_limit_cut_is_unknown(
    place: Any,
) -> None:
    tool = Counter()
    one = LlmAgent(name="clerk", model=FunctionModel(tool.model), tools=[tool.pay], timeout=0.05)
    runner = InMemoryRunner(app=App(name="limits", root_agent=place(one)))
    runner.auto_create_session = True
    with pytest.raises(NodeTimeoutError):
        async for _ in runner.run_async(**WHO, new_message="Hi"):
            pass
    session = present(await runner.session_service.get_session(app_name="limits", **WHO))
    answers = [one.response for event in session.events for one in event.get_function_responses()]
    assert answers == [CUT] and tool.calls == 1


async def test_the_next_attempt_of_a_node_is_told_that_a_call_was_cut() -> None:
    tool = Counter()
    one = LlmAgent(
        name="clerk",
        model=FunctionModel(tool.model),
        tools=[tool.pay],
        timeout=0.05,
        retry_config=TWICE,
    )
    events = await run(in_graph(one))
    assert final_text(events) == "Done." and tool.calls == 1 and tool.told == [CUT]


async def test_a_call_is_closed_if_the_node_around_its_agent_handles_the_error() -> None:
    tool = Counter()
    one = LlmAgent(name="clerk", model=FunctionModel(tool.model), tools=[tool.pay], timeout=0.05)

    async def careful(node_input: Any, ctx: Any) -> str:
        try:
            return await ctx.run_node(one, "Pay")
        except DynamicNodeFailError:
            return "later"

    step = FunctionNode(func=careful, rerun_on_resume=True)
    events = await run(Workflow(name="graph", edges=[(START, step)]))
    answers = [one.response for event in events for one in event.get_function_responses()]
    assert answers == [CUT] and events[-1].output == "later"
