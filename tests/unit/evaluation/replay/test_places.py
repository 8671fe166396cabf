"""Replays compare where a call comes from: a tool node, or an agent with a tool of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent, SequentialAgent
from ostinato.evaluation.replay.comparison import Comparison, compare_runs
from ostinato.evaluation.replay.lane import LaneRun, LaneRunner, LaneSettings, read_recorded
from ostinato.evaluation.replay.recording import Exchange
from ostinato.evaluation.replay.replay_report import InvocationReport, ReplayReport, format_markdown
from ostinato.evaluation.replay.selection import Selection, select_exchanges
from ostinato.events.event import NODE_CALL, Event
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools.function_tool import FunctionTool
from ostinato.workflow import START, JoinNode, RetryConfig, Workflow, node
from ostinato.workflow.nodes import as_node
from tests.support.recorded_store import APP


class Bank:
    """A tool with effects."""

    def __init__(self, result: Any = None) -> None:
        self.effects: list[int] = []
        self._result = result

    def pay(self, amount: int) -> Any:
        """Pay."""
        self.effects.append(amount)
        return self._result


Make = Callable[[Bank, int], Any]


def chain(bank: Bank, amount: int, **options: Any) -> Workflow:
    def prepare(node_input: Any) -> dict[str, Any]:
        return {"amount": amount}

    def show(node_input: Any) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text=f"got {node_input!r}")])

    tool = FunctionTool(bank.pay, **options)
    return Workflow(name="flow", edges=[(START, prepare, tool, show)])


def nested(bank: Bank, amount: int) -> Workflow:
    inner = chain(bank, amount)
    return Workflow(name="outer", edges=[(START, inner)])


def by_run_node(bank: Bank, amount: int) -> Workflow:
    @node(rerun_on_resume=True)
    async def steer(ctx: Any, node_input: Any) -> Any:
        for one in (1, amount):
            await ctx.run_node(FunctionTool(bank.pay), {"amount": one})
        return "done"

    return Workflow(name="flow", edges=[(START, steer)])


def by_workers(bank: Bank, amount: int) -> Workflow:
    def amounts(node_input: Any) -> list[dict[str, Any]]:
        return [{"amount": one} for one in (1, 2, amount)]

    worker = node(FunctionTool(bank.pay), parallel_worker=True)
    return Workflow(name="flow", edges=[(START, amounts, worker)])


def side_by_side(bank: Bank, amount: int) -> Workflow:
    def prepare(node_input: Any) -> dict[str, Any]:
        return {"amount": amount}

    tools = tuple(node(FunctionTool(bank.pay), name=name) for name in ("left", "right"))
    return Workflow(name="flow", edges=[(START, prepare, tools, JoinNode(name="join"))])


def looped(bank: Bank, amount: int) -> Workflow:
    async def again(ctx: Any, node_input: Any) -> Event:
        count = ctx.state.get("count", 0) + 1
        ctx.state["count"] = count
        given = {"amount": amount if count == 2 else 1}
        return Event(output=given, route="pay" if count < 4 else "end")

    tool = as_node(FunctionTool(bank.pay))
    turn = as_node(again)

    def end(node_input: Any) -> str:
        return "done"

    edges: list[Any] = [(START, turn), (turn, {"pay": tool, "end": end}), (tool, turn)]
    return Workflow(name="flow", edges=edges)


async def record(agent: Any, *messages: Any) -> list[Exchange]:
    service = InMemorySessionService()
    runner = Runner(app_name=APP, agent=agent, session_service=service)
    await service.create_session(app_name=APP, user_id="ann", session_id="s")
    last: Any = None
    for message in messages:
        given: Any = message(last) if callable(message) else message
        async for event in runner.run_async(user_id="ann", session_id="s", new_message=given):
            last = event if event.get_function_calls() else last
    await runner.close()
    return (await select_exchanges(service, Selection(app_name=APP))).exchanges


async def replay(
    exchanges: list[Exchange], agent: Any, **settings: Any
) -> tuple[LaneRun, Comparison]:
    runner = LaneRunner(agent, LaneSettings(allow_code=True, **settings))
    (run,) = await runner.run_all(exchanges)
    return run, compare_runs(read_recorded(exchanges[0], {}, {}), run)


MAKES: list[Make] = [chain, nested, by_run_node, by_workers, side_by_side, looped]


@pytest.mark.parametrize("make", MAKES)
async def test_a_tool_node_gets_its_recorded_result(make: Make) -> None:
    exchanges = await record(make(Bank({"paid": True}), 3), "go")
    bank = Bank()
    run, found = await replay(exchanges, make(bank, 3))
    assert (found.outcome, run.error) == ("same", "")
    assert bank.effects == []
    assert run.usage.tool_calls == read_recorded(exchanges[0], {}, {}).usage.tool_calls > 0


@pytest.mark.parametrize("make", MAKES)
async def test_a_changed_call_of_a_tool_node_stops_the_replay(make: Make) -> None:
    exchanges = await record(make(Bank(), 3), "go")
    bank = Bank()
    run, found = await replay(exchanges, make(bank, 4000))
    assert found.outcome == "diverged"
    assert run.stopped == ("pay", {"amount": 4000})
    assert bank.effects == []


@pytest.mark.parametrize("result", [None, 5, {"result": 5}, {"file": b"\xff"}, "words"])
async def test_the_next_node_gets_the_recorded_result_as_the_tool_gave_it(result: Any) -> None:
    exchanges = await record(chain(Bank(result), 3), "go")
    run, found = await replay(exchanges, chain(Bank("other"), 3))
    assert found.outcome == "same"
    assert run.answer == f"got {result!r}"


async def test_a_stopped_tool_node_is_not_retried() -> None:
    def flow(bank: Bank, amount: int) -> Workflow:
        def prepare(node_input: Any) -> dict[str, Any]:
            return {"amount": amount}

        retry = RetryConfig(max_attempts=3, initial_delay=3600)
        return Workflow(
            name="flow", edges=[(START, prepare, node(FunctionTool(bank.pay), retry_config=retry))]
        )

    exchanges = await record(flow(Bank(), 3), "go")
    _, found = await replay(exchanges, flow(Bank(), 4))
    assert found.outcome == "diverged"


async def test_a_node_that_only_reads_runs_and_a_mock_answers_another() -> None:
    exchanges = await record(chain(Bank(), 3), "go")
    bank = Bank({"paid": "again"})
    run, found = await replay(exchanges, chain(bank, 4), read_only=["pay"])
    assert (found.outcome, run.ran, bank.effects) == ("calls", 1, [4])

    async def mock(tool: Any, args: dict[str, Any]) -> dict[str, Any]:
        return {"mocked": args["amount"]}

    run, found = await replay(exchanges, chain(Bank(), 5), mock=mock)
    assert (found.outcome, run.mocked, run.answer) == ("calls", 1, "got {'mocked': 5}")


async def test_the_call_of_another_node_has_no_recorded_result() -> None:
    def flow(bank: Bank, name: str) -> Workflow:
        def prepare(node_input: Any) -> dict[str, Any]:
            return {"amount": 3}

        return Workflow(
            name="flow", edges=[(START, prepare, node(FunctionTool(bank.pay), name=name))]
        )

    exchanges = await record(flow(Bank(), "sandbox"), "go")
    bank = Bank()
    _, found = await replay(exchanges, flow(bank, "production"))
    assert (found.outcome, bank.effects) == ("diverged", [])


async def test_a_recording_without_the_calls_of_nodes_repeats_no_effect() -> None:
    exchanges = await record(chain(Bank(), 3), "go")
    for event in exchanges[0].events:
        (event.custom_metadata or {}).pop(NODE_CALL, None)
    bank = Bank()
    _, found = await replay(exchanges, chain(bank, 3))
    assert (found.outcome, bank.effects) == ("diverged", [])


def approve(question: Any) -> types.Content:
    (asked,) = question.get_function_calls()
    answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"result": True})
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


async def test_the_recorded_approval_goes_to_the_question_of_the_node() -> None:
    exchanges = await record(chain(Bank({"paid": 1}), 3, require_confirmation=True), "go", approve)
    bank = Bank()
    run, found = await replay(exchanges, chain(bank, 3, require_confirmation=True))
    assert (found.outcome, run.unanswered, bank.effects) == ("same", False, [])
    run, found = await replay(exchanges, chain(bank, 3))
    assert (found.outcome, bank.effects) == ("diverged", [])
    assert run.asked_otherwise == "pay no longer asks for a confirmation"


async def test_a_question_of_a_node_without_an_answer_is_asked_again() -> None:
    exchanges = await record(chain(Bank({"paid": 1}), 3, require_confirmation=True), "go")
    bank = Bank()
    run, found = await replay(exchanges, chain(bank, 3, require_confirmation=True))
    assert (found.outcome, run.stopped, bank.effects) == ("same", None, [])
    run, found = await replay(exchanges, chain(bank, 3))
    assert (found.outcome, bank.effects) == ("diverged", [])
    assert run.asked_otherwise == "pay no longer asks for a confirmation"
    run, found = await replay(exchanges, chain(bank, 4, require_confirmation=True))
    assert (found.outcome, run.stopped, bank.effects) == ("diverged", ("pay", {"amount": 4}), [])


async def test_a_node_that_asks_only_now_stops_the_replay() -> None:
    exchanges = await record(chain(Bank(), 3), "go")
    run, found = await replay(exchanges, chain(Bank(), 3, require_confirmation=True))
    assert found.outcome == "diverged"
    assert run.asked_otherwise == "pay now asks for a confirmation"


def payers(bank: Bank, who: str) -> list[Agent]:
    def make(name: str) -> Agent:
        def think(request: Any) -> Any:
            paid = any(p.function_response for c in request.contents for p in c.parts or ())
            return call("pay", amount=1) if name == who and not paid else f"{name} is done"

        return Agent(name=name, model=FunctionModel(think), tools=[bank.pay])

    return [make("sandbox"), make("production")]


def in_sequence(bank: Bank, who: str) -> Any:
    return SequentialAgent(name="two", sub_agents=list(payers(bank, who)))


def in_graph(bank: Bank, who: str) -> Any:
    return Workflow(name="two", edges=[(START, *payers(bank, who))])


def by_transfer(bank: Bank, who: str) -> Any:
    def lead(request: Any) -> Any:
        return call("transfer_to_agent", agent_name=who)

    return Agent(name="lead", model=FunctionModel(lead), sub_agents=list(payers(bank, who)))


@pytest.mark.parametrize("make", [in_sequence, in_graph, by_transfer])
@pytest.mark.parametrize("read_only", [(), ("pay",)])
async def test_a_call_that_moves_to_another_agent_is_another_call(
    make: Callable[[Bank, str], Any], read_only: Any
) -> None:
    exchanges = await record(make(Bank({"paid": 1}), "sandbox"), "go")
    bank = Bank({"paid": 1})
    _, found = await replay(exchanges, make(bank, "sandbox"))
    assert (found.outcome, bank.effects) == ("same", [])
    run, found = await replay(exchanges, make(bank, "production"), read_only=read_only)
    assert found.outcome == ("calls" if read_only else "diverged")
    assert bank.effects == ([1] if read_only else [])
    if make is not by_transfer:
        assert found.expected_place.endswith("sandbox")
        row = InvocationReport("a", "u", "s", "i", "go", run, run, found)
        shown = format_markdown(ReplayReport("two", [row]))
        assert "sandbox: pay(amount=1)" in shown
        assert read_only == () or "production: pay(amount=1)" in shown


async def test_a_recording_with_the_names_of_agents_only_is_compared_by_name() -> None:
    exchanges = await record(by_transfer(Bank({"paid": 1}), "sandbox"), "go")
    for event in exchanges[0].events:
        event.node_info.path = ""
    bank = Bank()
    _, found = await replay(exchanges, by_transfer(bank, "sandbox"))
    assert (found.outcome, bank.effects) == ("same", [])


async def test_the_task_of_an_agent_gets_its_recorded_result() -> None:
    def make(bank: Bank) -> Agent:
        def names(request: Any) -> list[Any]:
            parts = [p for c in request.contents for p in c.parts or ()]
            return [p.function_response.name for p in parts if p.function_response]

        def work(request: Any) -> Any:
            return (
                call("finish_task", result="x")
                if "pay" in names(request)
                else call("pay", amount=1)
            )

        def lead(request: Any) -> Any:
            return "Done." if "clerk" in names(request) else call("clerk", request="x")

        clerk = Agent(name="clerk", model=FunctionModel(work), tools=[bank.pay], mode="task")
        return Agent(name="lead", model=FunctionModel(lead), sub_agents=[clerk])

    exchanges = await record(make(Bank({"paid": 1})), "go")
    bank = Bank()
    run, found = await replay(exchanges, make(bank))
    assert (found.outcome, run.error, bank.effects) == ("same", "", [])


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ("Paid.", "Paid.", "same"),
        ({"a": 5, "b": 1}, {"b": 1, "a": 5.0}, "same"),
        ("Paid.", "Not paid.", "words"),
        ("Paid.", None, "words"),
        (0, None, "words"),
        (None, "Paid.", "words"),
    ],
)
async def test_the_output_of_a_workflow_counts(before: Any, after: Any, outcome: str) -> None:
    def make(result: Any) -> Workflow:
        def prepare(node_input: Any) -> dict[str, Any]:
            return {"amount": 3}

        def receipt(node_input: Any) -> Any:
            return result

        return Workflow(name="flow", edges=[(START, prepare, FunctionTool(Bank().pay), receipt)])

    exchanges = await record(make(before), "go")
    found = await LaneRunner(make(after), LaneSettings(allow_code=True)).run(exchanges[0])
    assert compare_runs(read_recorded(exchanges[0], {}, {}), found).outcome == outcome
