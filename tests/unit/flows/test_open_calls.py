"""Calls whose response has not come yet: in every request each call has one response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.agents.context import Context
from ostinato.apps import App, ResumabilityConfig
from ostinato.context.node import BaseNode
from ostinato.events import Event
from ostinato.flows.llm_flows.history.arrangement import PENDING
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import ScriptedModel, call
from ostinato.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import SESSION, USER, Store, Talk

REFUSED: list[str] = []


class StrictModel(ScriptedModel):
    """Notes requests that providers refuse, and says "More." at the end of its script."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        fault = find_fault(llm_request.contents)
        if fault:
            REFUSED.append(fault)
        self.add("More.")
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def find_fault(contents: list[types.Content]) -> str:
    """Return what a provider refuses: calls without one response each, right behind them."""
    asked: list[str] = []
    for content in [*contents, types.Content(role="user", parts=[])]:
        parts = content.parts or []
        given = [p.function_response.name or "" for p in parts if p.function_response]
        if sorted(given) != sorted(asked):
            return f"{given} responds to {asked} in {contents}"
        asked = [p.function_call.name or "" for p in parts if p.function_call]
    return ""


@pytest.fixture(autouse=True)
def none_refused() -> None:
    REFUSED.clear()


def pay(amount: int = 1) -> str:
    """Pay."""
    return f"paid {amount}"


def order() -> None:
    """Order something; the result comes later."""


def look() -> str:
    """Look at it."""
    return "seen"


def sign(tool_context: Context) -> str | None:
    """Sign, if a person agrees."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sign?")
        return None
    return "signed"


PAY = FunctionTool(pay, require_confirmation=True)
ORDER = LongRunningFunctionTool(order)


def agent(name: str, *turns: Any, **fields: Any) -> LlmAgent:
    model = StrictModel()
    for turn in turns:
        model.add(turn)
    return LlmAgent(name=name, description=name, model=model, **fields)


def payer(name: str = "payer", mode: Any = "single_turn") -> LlmAgent:
    return agent(name, call("pay"), "Paid.", mode=mode, tools=[PAY])


def asking(*calls: Any, name: str = "root", **fields: Any) -> LlmAgent:
    return agent(name, list(calls), **fields)


PAYER = call("payer", request="x")


def nested(mode: Any) -> LlmAgent:
    inner = asking(PAYER, name="middle", mode=mode, sub_agents=[payer()])
    return asking(call("middle", request="x"), sub_agents=[inner])


def transferring() -> LlmAgent:
    other = asking(PAYER, name="other", sub_agents=[payer()])
    return asking(call("transfer_to_agent", agent_name="other"), sub_agents=[other])


SHAPES: dict[str, Callable[[], BaseNode]] = {
    "long_running": lambda: asking(call("order"), tools=[ORDER]),
    "long_running_beside_tool": lambda: asking(call("order"), call("look"), tools=[ORDER, look]),
    "long_running_beside_approval": lambda: asking(call("pay"), call("order"), tools=[ORDER, PAY]),
    "own_approval": lambda: asking(call("sign"), tools=[sign]),
    "single": lambda: asking(PAYER, sub_agents=[payer()]),
    "single_without_history": lambda: asking(PAYER, sub_agents=[payer()], include_contents="none"),
    "single_beside_tool": lambda: asking(PAYER, call("look"), tools=[look], sub_agents=[payer()]),
    "single_beside_single": lambda: asking(
        PAYER,
        call("quick", request="x"),
        sub_agents=[payer(), agent("quick", mode="single_turn")],
    ),
    "two_that_wait": lambda: asking(
        PAYER, call("second", request="x"), sub_agents=[payer(), payer("second")]
    ),
    "task_beside_tool": lambda: asking(
        call("task", request="x"), call("look"), tools=[look], sub_agents=[payer("task", "task")]
    ),
    "single_in_single": lambda: nested("single_turn"),
    "single_in_task": lambda: nested("task"),
    "sequence": lambda: SequentialAgent(
        name="line", sub_agents=[asking(PAYER, sub_agents=[payer()]), agent("last")]
    ),
    "side_by_side": lambda: ParallelAgent(
        name="fan",
        sub_agents=[
            asking(PAYER, sub_agents=[payer()]),
            asking(call("order"), name="b", tools=[ORDER]),
        ],
    ),
    "transfer": transferring,
    "agent_tool": lambda: asking(PAYER, tools=[AgentTool(payer(mode=None))]),
    "graph": lambda: Workflow(name="flow", edges=[(START, asking(PAYER, sub_agents=[payer()]))]),
}
every_shape = pytest.mark.parametrize("shape", SHAPES)
DOORS = ["rewind", "fork", "reopen"]
either_app = pytest.mark.parametrize("resumable", [True, False], ids=["resumable", "plain"])


def talk_of(shape: str, store: Store, resumable: bool) -> Talk:
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    return Talk(App(name="talk", root_agent=SHAPES[shape](), resumability_config=config), store)


def waiting(events: list[Event]) -> list[types.FunctionCall]:
    return [
        c for e in events for c in e.get_function_calls() if c.id in (e.long_running_tool_ids or ())
    ]


def decide(wanted: types.FunctionCall, confirmed: bool, *words: str) -> types.Content:
    response = {"confirmed": confirmed}
    given = types.FunctionResponse(id=wanted.id, name=wanted.name, response=response)
    said = [types.Part(text=text) for text in words]
    return types.Content(role="user", parts=[types.Part(function_response=given), *said])


@either_app
@every_shape
@pytest.mark.parametrize(
    "confirmed",
    [pytest.param(True, id="yes"), pytest.param(False, id="no", marks=pytest.mark.long)],
)
async def test_requests_are_well_formed_before_and_after_a_decision(
    shape: str, resumable: bool, confirmed: bool, store: Store
) -> None:
    talk = talk_of(shape, store, resumable)
    wanted = waiting(await talk.say("Go"))
    await talk.say("Hello")
    for one in wanted:
        await talk.say(decide(one, confirmed))
        await talk.say("And?")
    assert bool(wanted) == (shape != "agent_tool")  # an agent that runs as a tool cannot ask
    assert REFUSED == []


@either_app
@every_shape
async def test_requests_are_well_formed_if_the_decision_comes_with_words(
    shape: str, resumable: bool, memory: Store
) -> None:
    talk = talk_of(shape, memory, resumable)
    for one in waiting(await talk.say("Go")):
        await talk.say(decide(one, True, "Hurry"))
    await talk.say("And?")
    assert REFUSED == []


@either_app
@every_shape
@pytest.mark.parametrize(
    "door", ["cancel", *(pytest.param(d, marks=pytest.mark.long) for d in DOORS)]
)
async def test_requests_are_well_formed_whatever_happens_to_the_session(
    shape: str, resumable: bool, door: str, store: Store
) -> None:
    talk = talk_of(shape, store, resumable)
    first = await talk.say("Go")
    await talk.say("Hello")
    if door == "cancel":
        await talk.runner.cancel(
            user_id=USER, session_id=SESSION, invocation_id=first[0].invocation_id
        )
    elif door == "rewind":
        newest = (await talk.stored())[-1].invocation_id
        if newest != first[0].invocation_id:
            await talk.runner.rewind_async(
                user_id=USER, session_id=SESSION, rewind_before_invocation_id=newest
            )
    elif door == "fork":
        await store.service.fork_session(
            app_name="talk", user_id=USER, session_id=SESSION, new_session_id="copy"
        )
        async for _ in talk.runner.run_async(user_id=USER, session_id="copy", new_message="Hi"):
            pass
    else:
        talk = talk_of(shape, store, resumable)
    await talk.say("And?")
    assert REFUSED == []


async def test_the_interim_response_is_in_the_request_and_not_in_the_log(memory: Store) -> None:
    talk = talk_of("single", memory, True)
    (wanted,) = waiting(await talk.say("Go"))
    await talk.say("Hello")
    model: Any = talk.runner.app.root_agent.model
    assert [r.response for r in model.requests[-1].function_responses] == [PENDING]
    log = await talk.stored()
    assert not [r for e in log for r in e.get_function_responses() if r.name == "payer"]
    await talk.say(decide(wanted, True))
    assert model.requests[-1].texts == ["Go"]
    await talk.say("And?")
    assert [r.response for r in model.requests[-1].function_responses] == [{"result": "Paid."}]
    assert model.requests[-1].texts == ["Go", "Hello", "More.", "More.", "And?"]
