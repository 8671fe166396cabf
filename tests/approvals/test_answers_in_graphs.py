"""The agent of a workflow's node acts on each accepted answer, whatever else it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import Context, ModelRetry, types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, ScriptedModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from ostinato.workflow import START, FunctionNode, Workflow
from ostinato.workflow.node_errors import ToolNotRunError
from tests.approvals.kit import PLACE, decide, requests


class Office:
    """A graph of an agent that makes two calls, and of another agent.

    Attributes:
      paid: what the tool was run with.
      asked: how often the model of each agent was called.
    """

    def __init__(self, service: Any, second: str, resumable: bool) -> None:
        self.paid: list[int] = []
        self.asked = {"clerk": 0, "writer": 0}
        calls = [call("pay", amount=1), call(second, amount=2)]

        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        def book(amount: int) -> dict[str, str]:
            """Book."""
            return {"status": "booked"}

        def fail(amount: int) -> None:
            """Fail."""
            raise ModelRetry("bad")

        def reply(request: LlmRequest) -> Any:
            self.asked["clerk"] += 1
            return calls if self.asked["clerk"] == 1 else "Done."

        def write(request: LlmRequest) -> str:
            self.asked["writer"] += 1
            return "Written."

        tools = [LongRunningFunctionTool(book), LongRunningFunctionTool(fail)]
        clerk = LlmAgent(
            name="clerk",
            model=FunctionModel(reply),
            tools=[FunctionTool(pay, require_confirmation=True), *tools],
        )
        writer = LlmAgent(name="writer", model=FunctionModel(write))
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        graph = Workflow(name="office", edges=[(START, clerk, writer)])
        app = App(name="desk", root_agent=graph, resumability_config=config)
        self.runner = Runner(app=app, session_service=service, auto_create_session=True)

    async def say(self, message: Any) -> list[Any]:
        return [e async for e in self.runner.run_async(**PLACE, new_message=message)]


@pytest.fixture(params=[False, True], ids=["plain", "resumable"])
def resumable(request: Any) -> bool:
    return request.param


@pytest.mark.parametrize("second", ["book", "fail"])
async def test_an_approval_does_not_wait_for_a_long_running_call(
    store: Any, resumable: bool, second: str
) -> None:
    office = Office(store, second, resumable)
    (request,) = requests(await office.say("Pay."))
    await office.say(decide(request))
    assert office.paid == [1] and office.asked["clerk"] == 2


async def test_the_model_waits_for_all_approvals(store: Any, resumable: bool) -> None:
    office = Office(store, "pay", resumable)
    one, two = requests(await office.say("Pay."))
    await office.say(decide(two))
    assert office.paid == [2] and office.asked == {"clerk": 1, "writer": 0}
    await office.say(decide(one))
    assert office.paid == [2, 1] and office.asked == {"clerk": 2, "writer": 1}


@pytest.mark.parametrize("confirmed", [False, True])
@pytest.mark.parametrize("mode", ["single_turn", "task", None])
async def test_an_agent_that_a_function_runs_acts_on_the_answer(
    store: Any, mode: Any, confirmed: bool, resumable: bool
) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    model = ScriptedModel([call("pay", amount=1), "Done."])
    tools: list[Any] = [FunctionTool(pay, require_confirmation=True)]
    clerk = LlmAgent(name="clerk", mode=mode, model=model, tools=tools)

    async def run_clerk(ctx: Context, node_input: Any) -> Any:
        return await ctx.run_node(clerk, "Pay.")

    code = FunctionNode(func=run_clerk, rerun_on_resume=True)
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    graph = Workflow(name="flow", edges=[(START, code)])
    app = App(name="desk", root_agent=graph, resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)
    (asked,) = requests([one async for one in runner.run_async(**PLACE, new_message="Go.")])
    answer = decide(asked, confirmed)
    events = [one async for one in runner.run_async(**PLACE, new_message=answer)]
    assert paid == [1] * confirmed
    texts = [part.text for one in events for part in (one.content and one.content.parts) or ()]
    assert "Done." in texts


class Desk:
    """A graph of a tool and an agent side by side, each of which asks for an approval.

    Attributes:
      paid: what the tools were run with.
    """

    def __init__(self, service: Any, resumable: bool) -> None:
        self.paid: list[str] = []

        def pay_bill() -> None:
            self.paid.append("bill")

        def pay_fee() -> str:
            self.paid.append("fee")
            return "paid"

        def begin(node_input: Any) -> dict[str, Any]:
            return {}

        model = ScriptedModel([call("pay_fee"), "Done."])
        fee = FunctionTool(pay_fee, require_confirmation=True)
        clerk = LlmAgent(name="clerk", mode="single_turn", model=model, tools=[fee])
        bill = FunctionTool(pay_bill, require_confirmation=True)
        graph = Workflow(name="flow", edges=[(START, begin, bill), (START, clerk)])
        config = ResumabilityConfig(is_resumable=resumable)
        app = App(name="desk", root_agent=graph, resumability_config=config)
        self.runner = Runner(app=app, session_service=service, auto_create_session=True)

    async def ask(self) -> tuple[Any, Any]:
        """Return the requests of the tool and of the agent."""
        events = [one async for one in self.runner.run_async(**PLACE, new_message="Go.")]
        calls = [one for event in events for one in event.get_function_calls()]
        return next(one for one in calls if one.name == "adk_request_input"), requests(events)[0]

    async def answer(self, *parts: Any) -> None:
        """Answer in one message; the run ends with the rejected tool's error."""
        message = types.Content(role="user", parts=[*parts])
        with pytest.raises(ToolNotRunError):
            async for _ in self.runner.run_async(**PLACE, new_message=message):
                pass


def reject(request: Any) -> Any:
    answer = types.FunctionResponse(id=request.id, name=request.name, response={"result": False})
    return types.Part(function_response=answer)


@pytest.mark.parametrize("order", ["tool first", "agent first", "together"])
async def test_an_approval_beside_a_rejected_tool_is_acted_on(
    store: Any, resumable: bool, order: str
) -> None:
    desk = Desk(store, resumable)
    tool, agent = await desk.ask()
    (approval,) = decide(agent).parts or []
    if order == "together":
        await desk.answer(reject(tool), approval)
    elif order == "tool first":
        await desk.answer(reject(tool))
        await desk.answer(approval)
    else:
        async for _ in desk.runner.run_async(**PLACE, new_message=decide(agent)):
            pass
        await desk.answer(reject(tool))
    assert desk.paid == ["fee"]
    await desk.runner.close()
