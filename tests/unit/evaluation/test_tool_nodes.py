"""Tools that are nodes of a workflow, in an evaluation: mocked, recorded, and in trajectories."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.agents.node_agent import as_agent
from ostinato.evaluation.case_runner import CaseRun, CaseRunner, RunSettings
from ostinato.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    get_all_tool_calls,
    get_all_tool_responses,
)
from ostinato.evaluation.eval_config import ToolMockConfig
from ostinato.evaluation.session_case import make_session_case
from ostinato.evaluation.simulation.static_user_simulator import StaticUserSimulator
from ostinato.evaluation.tool_mocks import MissingMockError
from ostinato.evaluation.trajectory_evaluator import TrajectoryEvaluator
from ostinato.events.event import Event
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools.agent_tool import AgentTool
from ostinato.tools.function_tool import FunctionTool
from ostinato.workflow import START, RetryConfig, Workflow, node

PAID = {"paid": "by mock"}


class Shop:
    """Tools with effects, and graphs that call them as nodes."""

    def __init__(self) -> None:
        self.effects: list[str] = []

    def pay(self, amount: int) -> dict[str, Any]:
        """Pay."""
        self.effects.append(f"pay {amount}")
        return {"paid": amount}

    def notify(self, amount: int) -> None:
        """Notify, and return nothing."""
        self.effects.append(f"notify {amount}")

    def count(self, amount: int) -> int:
        """Return a number."""
        self.effects.append(f"count {amount}")
        return amount + 1

    def flow(self, *nodes: Any, name: str = "flow", **fields: Any) -> Workflow:
        return Workflow(name=name, edges=[(START, amount_of, *nodes)], **fields)


def amount_of(node_input: Any) -> dict[str, Any]:
    return {"amount": 3}


def finish(node_input: Any) -> str:
    return "end"


def again(node_input: Any) -> dict[str, Any]:
    return {"amount": 3}


def turn(*calls: tuple[str, dict[str, Any], dict[str, Any]]) -> Invocation:
    return Invocation(
        user_content=types.Content(role="user", parts=[types.Part(text="go")]),
        intermediate_data=IntermediateData(
            tool_uses=[types.FunctionCall(name=name, args=args) for name, args, _ in calls],
            tool_responses=[
                types.FunctionResponse(name=name.rpartition("/")[2], response=answer)
                for name, _, answer in calls
            ],
        ),
    )


async def run(root: Any, expected: Invocation, **mocks: Any) -> CaseRun:
    settings = RunSettings(tool_mocks=ToolMockConfig(**mocks))
    runner = CaseRunner(root, settings=settings)
    case = EvalCase(eval_id="c", conversation=[expected])
    user = StaticUserSimulator(static_conversation=[expected])
    try:
        return await runner.run_case(case, user, "s")
    finally:
        await runner.close()


def fits(found: CaseRun, expected: Invocation) -> bool:
    result = TrajectoryEvaluator(threshold=1.0).evaluate_invocations(found.invocations, [expected])
    return result.overall_score == 1.0


async def test_a_mock_answers_a_tool_that_is_a_node() -> None:
    shop = Shop()
    seen: list[Any] = []
    expected = turn(("pay", {"amount": 3}, PAID))

    def keep(node_input: Any) -> None:
        seen.append(node_input)

    flow = shop.flow(FunctionTool(shop.pay), keep)
    found = await run(flow, expected)
    assert shop.effects == []
    assert seen == [PAID]
    assert fits(found, expected)
    assert not fits(found, turn())
    assert not fits(found, turn(("pay", {"amount": 4}, PAID)))
    assert found.usage[0].tool_calls == 1


async def test_the_call_of_a_node_has_the_path_of_its_graph() -> None:
    shop = Shop()
    inner = shop.flow(FunctionTool(shop.pay), name="inner")
    expected = turn(("inner/pay", {"amount": 3}, PAID))
    found = await run(Workflow(name="outer", edges=[(START, inner)]), expected)
    assert shop.effects == [] and fits(found, expected)
    assert fits(found, turn(("outer/inner/pay", {"amount": 3}, PAID)))
    assert not fits(found, turn(("other/pay", {"amount": 3}, PAID)))


async def test_a_node_without_a_mock_fails_the_case_and_is_not_retried() -> None:
    shop = Shop()
    retried = node(
        FunctionTool(shop.pay), retry_config=RetryConfig(max_attempts=5, initial_delay=60)
    )
    with pytest.raises(MissingMockError, match="pay"):
        await run(shop.flow(retried), turn())
    assert shop.effects == []


def by_run_node(tool: FunctionTool) -> Workflow:
    @node(rerun_on_resume=True)
    async def steer(ctx: Any, node_input: Any) -> Any:
        return await ctx.run_node(tool, {"amount": 3})

    return Workflow(name="flow", edges=[(START, steer)])


def by_workers(tool: FunctionTool) -> Workflow:
    def amounts(node_input: Any) -> list[dict[str, Any]]:
        return [{"amount": 3}]

    worker = node(tool, parallel_worker=True)
    return Workflow(name="flow", edges=[(START, amounts, worker)])


@pytest.mark.parametrize("make", [by_run_node, by_workers])
async def test_tool_nodes_are_mocked_wherever_they_run(make: Callable[..., Workflow]) -> None:
    shop = Shop()
    expected = turn(("pay", {"amount": 3}, PAID))
    assert fits(await run(make(FunctionTool(shop.pay)), expected), expected)
    assert shop.effects == []


async def test_tool_nodes_of_a_graph_that_is_a_tool_are_inner_calls() -> None:
    shop = Shop()
    till = shop.flow(FunctionTool(shop.pay), finish, name="till")

    def think(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "Done." if last.function_response else call("till", request="x")

    tools: list[Any] = [AgentTool(as_agent(till))]
    clerk = Agent(name="clerk", model=FunctionModel(think), tools=tools)
    found = await run(clerk, turn(("pay", {"amount": 3}, PAID)))
    assert shop.effects == []
    trace = found.invocations[0].call_trace or []
    assert [(one.path, one.name, one.inner) for one in trace] == [
        ("clerk", "till", False),
        ("clerk/till", "pay", True),
    ]


async def test_a_number_and_nothing_pass_as_the_tool_returns_them(tmp_path: Path) -> None:
    file = str(tmp_path / "tools.json")
    shop = Shop()
    seen: list[Any] = []

    def keep(node_input: Any) -> dict[str, Any]:
        seen.append(node_input)
        return {"amount": 5}

    flow = shop.flow(FunctionTool(shop.count), keep, FunctionTool(shop.notify), finish)
    await run(flow, turn(), source="cassette", cassette=file, record=True)
    assert shop.effects == ["count 3", "notify 5"]
    made = json.loads(await asyncio.to_thread(Path(file).read_text))
    assert [one["name"] for one in made["calls"]] == [
        "count",
        "notify",
    ]
    found = await run(flow, turn(), source="cassette", cassette=file)
    assert shop.effects == ["count 3", "notify 5"]
    assert seen == [4, 4]
    names = [one.name for one in get_all_tool_calls(found.invocations[0].intermediate_data)]
    assert names == ["count", "notify"]


async def test_a_case_made_of_a_session_has_the_calls_of_nodes() -> None:
    shop = Shop()
    flow = shop.flow(FunctionTool(shop.pay), again, FunctionTool(shop.notify), finish)
    service = InMemorySessionService()
    runner = Runner(app_name="shop", agent=as_agent(flow), session_service=service)
    session = await service.create_session(app_name="shop", user_id="u", session_id="s")
    async for _ in runner.run_async(user_id="u", session_id="s", new_message="go"):
        pass
    session = await service.get_session(app_name="shop", user_id="u", session_id="s")
    assert session is not None
    made = (make_session_case(session, "c").case.conversation or [])[0]
    calls = get_all_tool_calls(made.intermediate_data)
    assert [(one.name, one.args) for one in calls] == [
        ("pay", {"amount": 3}),
        ("notify", {"amount": 3}),
    ]
    responses = [one.response for one in get_all_tool_responses(made.intermediate_data)]
    assert responses == [{"paid": 3}, {"result": None}]
    shop.effects.clear()
    assert fits(await run(flow, made), made)
    assert shop.effects == []


async def test_an_agent_as_a_tool_whose_tools_no_mock_reaches_does_not_run() -> None:
    shop = Shop()

    def think(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "Done." if last.function_response else call("pay", amount=1)

    def lead(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "Done." if last.function_response else call("payer", request="x")

    payer = Agent(name="payer", model=FunctionModel(think), tools=[shop.pay])
    tools: list[Any] = [AgentTool(payer, include_plugins=False)]
    root = Agent(name="lead", model=FunctionModel(lead), tools=tools)
    with pytest.raises(RuntimeError, match="include_plugins"):
        await run(root, turn(("pay", {"amount": 1}, PAID)))
    assert shop.effects == []


async def recorded_case(flow: Workflow) -> EvalCase:
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="u")
    runner = Runner(app_name="app", agent=as_agent(flow), session_service=service)
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass
    found = await service.get_session(app_name="app", user_id="u", session_id=session.id)
    assert found is not None
    return make_session_case(found, "c").case


async def test_a_trajectory_holds_the_call_of_a_node_that_waits_and_not_the_question() -> None:
    shop = Shop()
    flow = shop.flow(FunctionTool(shop.pay, require_confirmation=True), finish)
    (expected,) = (await recorded_case(flow)).conversation or []
    (call_of,) = get_all_tool_calls(expected.intermediate_data)
    assert call_of.name == "adk_request_input"
    found = await run(flow, expected, missing="run")
    assert shop.effects == [] and fits(found, expected)
    waiting = ("pay", {"amount": 3}, PAID)
    assert fits(found, turn(waiting)) and not fits(found, turn())
    (question,) = get_all_tool_calls(expected.intermediate_data)
    assert question.args is not None
    question.args["payload"]["args"]["amount"] = 4
    assert not fits(found, expected)


@pytest.mark.parametrize(("result", "text"), [("Paid.", "Paid."), ({"paid": 3}, '{"paid": 3}')])
async def test_the_output_of_a_workflow_is_its_answer(result: Any, text: str) -> None:
    shop = Shop()

    def end(node_input: Any) -> Any:
        return result

    flow = shop.flow(end)
    (expected,) = (await recorded_case(flow)).conversation or []
    found = await run(flow, expected)
    for one in (expected, found.invocations[0]):
        assert one.final_response == types.Content(role="model", parts=[types.Part(text=text)])


async def test_a_message_of_a_workflow_counts_before_its_output() -> None:
    def end(node_input: Any) -> Event:
        return Event(message="Done.", output={"code": 1})

    (expected,) = (await recorded_case(Shop().flow(end))).conversation or []
    assert expected.final_response is not None and expected.final_response.parts
    assert expected.final_response.parts[0].text == "Done."
