"""`simulate`: agents that others call, as tasks and as tools, and rewinds of what they did."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import patch

import pytest

from ostinato.agents import LlmAgent
from ostinato.flows.llm_flows import delegation
from ostinato.testing import Host, call, simulate
from ostinato.tools import AgentTool, FunctionTool, ToolContext
from ostinato.workflow import START, Workflow


def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    assert tool_context.idempotency_key
    return {"paid": amount}


def make_tasks(**options: Any) -> LlmAgent:
    inner = LlmAgent(name="bank", description="Pays.", mode="task", tools=[pay])
    payer = LlmAgent(name="payer", description="Pays.", mode="task", tools=[pay], **options)
    return LlmAgent(name="shop", sub_agents=[payer, inner])


def make_nested_tasks() -> LlmAgent:
    inner = LlmAgent(name="inner", description="Pays.", mode="task", tools=[pay])
    return make_tasks(sub_agents=[inner])


@pytest.mark.parametrize("faults", [None, {}])
@pytest.mark.parametrize("make", [make_tasks, make_nested_tasks])
def test_a_task_that_waits_for_the_user_is_no_lost_call(make: Any, faults: Any) -> None:
    simulate(make, runs=15, faults=faults).assert_held()


@pytest.mark.parametrize("mode", ["single_turn", "task"])
def test_a_called_agent_that_waits_for_approvals_is_no_lost_call(mode: Any) -> None:
    asks = FunctionTool(pay, require_confirmation=True)
    other = LlmAgent(name="other", description="Pays.", mode=mode, tools=[asks])
    shop = LlmAgent(name="shop", tools=[asks], sub_agents=[other])
    simulate(shop, runs=15).assert_held()


async def _lose_answers(*args: Any) -> AsyncGenerator[Any]:
    async for event in RUN_TASK(*args):
        if not event.get_function_responses() or event.author != "user":
            yield event


async def _start_nothing(*args: Any) -> AsyncGenerator[Any]:
    for event in ():
        yield event


RUN_TASK = delegation._run_task


@pytest.mark.parametrize("run_task", [_lose_answers, _start_nothing])
def test_a_task_that_is_lost_is_found(run_task: Any) -> None:
    with patch.object(delegation, "_run_task", run_task):
        report = simulate(make_tasks, runs=10, faults={}, shrink=False)
    assert "unanswered: call" in report.failures[0].violation


def test_a_task_beside_the_end_of_its_caller_and_an_approval_is_answered() -> None:
    def reply(request: Any) -> Any:
        names = {
            one.name for tool in request.config.tools or () for one in tool.function_declarations
        }
        if "inner" in names:
            finish = call("finish_task", result="done")
            return [finish, call("inner", request="Pay."), call("pay", amount=1)]
        return call("payer", request="Pay.") if len(request.contents) < 2 else "Done."

    inner = LlmAgent(name="inner", description="Pays.", mode="task")
    asks = FunctionTool(pay, require_confirmation=True)
    payer = LlmAgent(name="payer", description="", mode="task", tools=[asks], sub_agents=[inner])
    shop = LlmAgent(name="shop", sub_agents=[payer])
    simulate(shop, runs=3, model=reply, faults={}).assert_held()


async def pay_without_key(amount: int) -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(("tool", "kind"), [(pay, ""), (pay_without_key, "unkeyed")])
def test_a_repeat_inside_of_an_agent_that_is_a_tool_is_found(tool: Any, kind: str) -> None:
    shop = LlmAgent(
        name="shop", tools=[AgentTool(LlmAgent(name="payer", description="Pays.", tools=[tool]))]
    )
    faults = {"death": 3.0, "lease_loss": 1.0}
    report = simulate(shop, runs=10, faults=faults, shrink=False)
    assert [one.violation.partition(":")[0] for one in report.failures] == [kind] * bool(kind)


def quote(node_input: str) -> dict[str, Any]:
    return {"amount": 5}


async def rewind(host: Host) -> None:
    said = [event.invocation_id for event in host.events if event.author == "user"]
    if said:
        await host.runner.rewind_async(
            user_id=host.user_id,
            session_id=host.session_id,
            rewind_before_invocation_id=host.choose(said),
        )


def make_shop(tool: Any) -> LlmAgent:
    return LlmAgent(name="shop", tools=[tool])


def make_flow(tool: Any) -> Workflow:
    return Workflow(name="order", edges=[(START, quote, tool)])


@pytest.mark.parametrize("make", [make_shop, make_flow])
@pytest.mark.parametrize("options", [{}, {"timeout": 5.0}, {"require_confirmation": True}])
def test_a_rewind_runs_plain_functions_in_place_and_opens_calls_again(
    make: Any, options: dict[str, Any]
) -> None:
    agent = make(FunctionTool(pay, **options))
    simulate(agent, runs=20, host_actions={"rewind": rewind}).assert_held()


def start_thread(tool_context: ToolContext) -> str:
    """Start a thread."""
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()
    return tool_context.idempotency_key


def start_process(tool_context: ToolContext) -> str:
    """Start a process."""
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    return tool_context.idempotency_key


async def await_thread(tool_context: ToolContext) -> str:
    """Let the loop run something elsewhere: a simulation does it in place."""
    return await asyncio.to_thread(str, tool_context.idempotency_key)


@pytest.mark.parametrize(
    ("tool", "what"), [(start_thread, "a thread"), (start_process, "a process"), (await_thread, "")]
)
def test_threads_and_processes_of_tools_are_told_once(tool: Any, what: str) -> None:
    report = simulate(LlmAgent(name="shop", tools=[tool]), runs=2, actions=6, faults={})
    report.assert_held()
    notes = [f"{tool.__name__} starts {what}: a simulation covers nothing that it does"]
    assert report.notes == notes * bool(what)
    assert str(report).count("note: ") == len(report.notes)
