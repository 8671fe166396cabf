"""Tools that call sys.exit() or cancel themselves: errors of the tool, not the program's end."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.code_executors.base_code_executor import BaseCodeExecutor
from ostinato.errors import ToolAbortedError
from ostinato.testing import FunctionModel, ScriptedModel, call, final_text
from ostinato.tools import AgentTool, BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset
from ostinato.workflow import FunctionNode, Workflow

from .kit import Store, Talk


async def exits() -> None:
    sys.exit("bye")


def exits_in_its_thread() -> None:
    sys.exit(3)


def parses() -> None:
    argparse.ArgumentParser(prog="tool", exit_on_error=True).parse_args(["--unknown"])


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def waits_for_what_was_cancelled() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    await gone


def cancels_in_its_thread() -> None:
    raise asyncio.CancelledError


async def closes_itself() -> None:
    raise GeneratorExit


def closes_in_its_thread() -> None:
    raise GeneratorExit


def raises_a_group() -> None:
    inner = BaseExceptionGroup("inner", [SystemExit(1), ValueError("beside it")])
    raise BaseExceptionGroup("outer", [inner, asyncio.CancelledError()])


ABORTING = [
    closes_itself,
    closes_in_its_thread,
    raises_a_group,
    exits,
    exits_in_its_thread,
    parses,
    cancels_itself,
    waits_for_what_was_cancelled,
    cancels_in_its_thread,
]
aborting = pytest.mark.parametrize("func", ABORTING, ids=lambda f: f.__name__)


def named(func: Any) -> FunctionTool:
    tool = FunctionTool(func)
    tool.name = "tool"
    return tool


class Set(BaseToolset):
    """A toolset of one tool."""

    def __init__(self, tool: BaseTool) -> None:
        super().__init__()
        self.tool = tool

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [self.tool]

    async def close(self) -> None:
        pass


@aborting
@pytest.mark.parametrize("calls", [1, 2])
async def test_the_run_ends_with_a_typed_error_and_the_session_goes_on(
    store: Store, func: Any, calls: int
) -> None:
    model = ScriptedModel([[call("tool")] * calls])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[named(func)]), store)
    error = await talk.fails()
    assert isinstance(error, ToolAbortedError)
    assert "Tool 'tool'" in str(error)
    assert isinstance(
        error.__cause__,
        SystemExit | asyncio.CancelledError | GeneratorExit | BaseExceptionGroup,
    )
    await talk.check_goes_on(model)


@aborting
async def test_with_feedback_the_model_is_told(memory: Store, func: Any) -> None:
    model = ScriptedModel([call("tool"), "I see."])
    agent = LlmAgent(name="clerk", model=model, tools=[Set(named(func))])
    talk = Talk(agent, memory, tool_errors="feedback")
    events = await talk.say()
    (answer,) = [r.response for e in events for r in e.get_function_responses()]
    assert (answer or {})["error"].startswith("ToolAbortedError: Tool 'tool'")
    assert final_text(events) == "I see."


async def test_a_group_of_ordinary_exceptions_stays_as_it_is(store: Store) -> None:
    group = ExceptionGroup("both", [ValueError("one"), OSError("two")])

    def raises() -> None:
        raise group

    model = ScriptedModel([call("raises")])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[raises]), store)
    assert await talk.fails() is group
    await talk.check_goes_on(model)


class EndOfProgram(BaseException):
    """Something that is no exit of a tool's own, such as KeyboardInterrupt."""


async def test_a_group_that_ends_the_program_ends_it(memory: Store) -> None:
    def raises() -> None:
        raise BaseExceptionGroup("both", [EndOfProgram(), SystemExit(1)])

    talk = Talk(
        LlmAgent(name="clerk", model=ScriptedModel([call("raises")]), tools=[raises]), memory
    )
    with pytest.raises(BaseExceptionGroup, match="both"):
        await talk.say()


async def test_an_error_callback_may_answer_it(memory: Store) -> None:
    def answer(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
        return {"answered": type(error).__name__}

    model = ScriptedModel([call("exits"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[exits], on_tool_error_callback=answer)
    events = await Talk(agent, memory).say()
    answers = [r.response for e in events for r in e.get_function_responses()]
    assert answers == [{"answered": "ToolAbortedError"}]


async def test_an_agent_that_runs_as_a_tool_passes_the_error_on(memory: Store) -> None:
    helper = LlmAgent(name="helper", model=ScriptedModel([call("exits")]), tools=[exits])
    model = ScriptedModel([call("helper", request="Help")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[AgentTool(helper)]), memory)
    assert isinstance(await talk.fails(), ToolAbortedError)
    await talk.check_goes_on(model)


@aborting
@pytest.mark.parametrize("kind", ["function", "tool"])
async def test_a_node_of_a_workflow_fails_with_it(memory: Store, func: Any, kind: str) -> None:
    def calls_it(node_input: Any) -> Any:
        return func()

    node: Any = FunctionNode(func=calls_it, name="node") if kind == "function" else named(func)
    graph: Any = Workflow(name="graph", edges=[("START", node)])
    error = await Talk(graph, memory).fails()
    assert isinstance(error, ToolAbortedError)


class Exiting(BaseCodeExecutor):
    """Runs code by ending the program."""

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        sys.exit(4)


async def test_a_code_executor_fails_with_it(memory: Store) -> None:
    model = FunctionModel(lambda _: "```python\n1\n```")
    talk = Talk(LlmAgent(name="clerk", model=model, code_executor=Exiting()), memory)
    error = await talk.fails()
    assert isinstance(error, ToolAbortedError)
    assert "Exiting" in str(error)


async def test_a_run_that_is_cancelled_during_a_tool_is_cancelled(memory: Store) -> None:
    started = asyncio.Event()

    async def waits() -> None:
        started.set()
        await asyncio.Event().wait()

    model = ScriptedModel([call("waits")])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[waits]), memory)
    task = asyncio.create_task(talk.say())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await talk.check_goes_on(model)


async def closes_what_awaits_it() -> None:
    failed = asyncio.get_running_loop().create_future()
    failed.set_exception(GeneratorExit())
    await failed


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_run_that_cannot_be_closed_gives_its_session_back(store: Store) -> None:
    model = ScriptedModel([call("tool"), "Hello."])
    agent = LlmAgent(name="clerk", model=model, tools=[named(closes_what_awaits_it)])
    talk = Talk(agent, store)
    run = talk.runner.start(user_id="ann", session_id="s", new_message="Hi")
    with pytest.raises(ToolAbortedError):
        await run.result()
    later = talk.runner.start(user_id="ann", session_id="s", new_message="Hi again")
    assert (await later.result()).text == "Hello."
