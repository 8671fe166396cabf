"""A long-running call waits for a result once its tool has begun, and not before."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.errors import CallNotOpenError
from ostinato.events import Event
from ostinato.events.pending import pending_calls
from ostinato.flows.llm_flows.history.arrangement import PENDING
from ostinato.models.invalid_args import INVALID_ARGS_KEY
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import ScriptedModel, call
from ostinato.tools import LongRunningFunctionTool, ToolContext
from ostinato.tools.policy import Policy, Rule
from tests.approvals.kit import NAMES, PLACE, decide, requests

ASKS: dict[str, Any] = {
    "tool": {"require_confirmation": True},
    "policy": {"policy": Policy(rules=[Rule(id="r", tool="order", verdict="ask")])},
}


class Shop:
    """An agent whose tool orders something and gets the receipt later."""

    def __init__(
        self,
        service: Any,
        *,
        resumable: bool = False,
        policy: Policy | None = None,
        returns: Any = None,
        args: dict[str, Any] | None = None,
        turns: list[Any] | None = None,
        **options: Any,
    ) -> None:
        self.begun: list[int] = []
        self.service = service

        def order(amount: int) -> Any:
            """Order."""
            self.begun.append(amount)
            return returns

        self.model = ScriptedModel(
            turns or [call("order", **(args or {"amount": 5})), "One.", "Two.", "Three."]
        )
        agent = LlmAgent(
            name="clerk", model=self.model, tools=[LongRunningFunctionTool(order, **options)]
        )
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        self.runner = Runner(
            app=App(name="desk", root_agent=agent, policy=policy, resumability_config=config),
            session_service=service,
            auto_create_session=True,
        )

    async def say(self, message: Any = "Order 5.", **options: Any) -> list[Event]:
        run = self.runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    async def inbox(self) -> list[str]:
        """Return the kinds of what waits; the store and the events say the same."""
        page = await self.service.open_requests("desk")
        session = await self.service.get_session(**NAMES)
        kinds = sorted(one.request.kind for one in page.requests)
        assert kinds == sorted(one.kind for one in pending_calls(session.events))
        return kinds


def order_of(events: list[Event]) -> types.FunctionCall:
    return next(c for event in events for c in event.get_function_calls() if c.name == "order")


def result_of(made: types.FunctionCall, **response: Any) -> types.Content:
    answer = types.FunctionResponse(id=made.id, name=made.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


@pytest.fixture(params=[False, True], ids=["plain", "resumable"])
def resumable(request: Any) -> bool:
    return request.param


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("returns", [None, {"status": "ordered"}], ids=["nothing", "interim"])
async def test_a_result_is_taken_after_the_approval(
    store: Any, resumable: bool, asks: str, returns: Any
) -> None:
    shop = Shop(store, resumable=resumable, returns=returns, **ASKS[asks])
    events = await shop.say()
    made, (request,) = order_of(events), requests(events)
    assert await shop.inbox() == ["approval"]
    with pytest.raises(CallNotOpenError, match="has not started"):
        await shop.say(result_of(made, status="fake"))
    await shop.say(decide(request, True))
    assert shop.begun == [5] and await shop.inbox() == ["result"]
    await shop.say(result_of(made, status="done"))
    assert {"status": "done"} in [
        part.function_response.response
        for content in shop.model.requests[-1].contents
        for part in content.parts or ()
        if part.function_response is not None
    ]
    assert await shop.inbox() == []


@pytest.mark.parametrize("asks", ASKS)
async def test_what_comes_later_does_not_run_a_silent_tool_again(
    store: Any, resumable: bool, asks: str
) -> None:
    shop = Shop(store, resumable=resumable, **ASKS[asks])
    events = await shop.say()
    (request,) = requests(events)
    await shop.say(decide(request, True))
    later = Shop(store, resumable=resumable, turns=["Hm."] * 9, **ASKS[asks])  # another process
    for one in (shop, later):
        await one.say("Where is it?")
    assert shop.begun == [5] and later.begun == [] and await shop.inbox() == ["result"]
    for one in (shop, later):
        await one.say(None, invocation_id=events[0].invocation_id)
    assert shop.begun == [5] and later.begun == [] and await shop.inbox() == ["result"]


@pytest.mark.parametrize("asks", ASKS)
async def test_a_rejection_closes_the_call(store: Any, resumable: bool, asks: str) -> None:
    shop = Shop(store, resumable=resumable, **ASKS[asks])
    events = await shop.say()
    made, (request,) = order_of(events), requests(events)
    await shop.say(decide(request, False))
    assert shop.begun == [] and await shop.inbox() == []
    with pytest.raises(CallNotOpenError, match="has not started"):
        await shop.say(result_of(made, status="fake"))
    await shop.say("Hello?")
    assert await shop.inbox() == []


async def test_an_approval_as_json_text_lets_the_tool_begin() -> None:
    shop = Shop(InMemorySessionService(), require_confirmation=True)
    (request,) = requests(await shop.say())
    answer = types.FunctionResponse(
        id=request.id, name=request.name, response={"response": '{"confirmed": true}'}
    )
    await shop.say(types.Content(role="user", parts=[types.Part(function_response=answer)]))
    assert shop.begun == [5] and await shop.inbox() == ["result"]


async def test_a_call_that_a_policy_denies_waits_for_no_result() -> None:
    policy = Policy(rules=[Rule(id="r", tool="order", verdict="deny")])
    shop = Shop(InMemorySessionService(), policy=policy)
    made = order_of(await shop.say())
    assert await shop.inbox() == []
    with pytest.raises(CallNotOpenError):
        await shop.say(result_of(made, status="fake"))


@pytest.mark.parametrize("args", [{"amount": "many"}, {INVALID_ARGS_KEY: "{"}, {"count": 5}])
async def test_a_call_with_wrong_arguments_waits_for_no_result(
    store: Any, resumable: bool, args: dict[str, Any]
) -> None:
    shop = Shop(store, resumable=resumable, args=args)
    made = order_of(await shop.say())
    assert shop.begun == [] and await shop.inbox() == []
    with pytest.raises(CallNotOpenError):
        await shop.say(result_of(made, status="fake"))


async def test_a_tool_that_asks_in_its_body_may_begin_after_a_rejection(store: Any) -> None:
    def order(amount: int, tool_context: ToolContext) -> Any:
        """Order."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Fast?")
            tool_context.actions.skip_summarization = True
            return {"status": "asked"}
        return {"status": "ordered"}

    shop = Shop(store)
    shop.runner.agent.tools = [LongRunningFunctionTool(order)]
    events = await shop.say()
    made, (request,) = order_of(events), requests(events)
    assert await shop.inbox() == ["approval"]
    await shop.say(decide(request, False))
    assert await shop.inbox() == ["result"]
    await shop.say(result_of(made, status="done"))
    assert await shop.inbox() == []


async def test_a_rewind_to_before_the_approval_takes_the_call_back(store: Any) -> None:
    shop = Shop(store, require_confirmation=True)
    (request,) = requests(await shop.say())
    approved = await shop.say(decide(request, True), idempotency_key="k")
    assert await shop.inbox() == ["result"]
    await shop.runner.rewind_async(**PLACE, rewind_before_invocation_id=approved[0].invocation_id)
    assert await shop.inbox() == ["approval"]
    await shop.say(decide(request, True))
    assert await shop.inbox() == ["result"]


@pytest.mark.parametrize("after", ["result", "other approval", "resume"])
async def test_a_tool_that_told_a_keyed_approval_nothing_runs_once(
    store: Any, resumable: bool, after: str
) -> None:
    """A message with an idempotency key runs the call in an invocation of its own."""
    turns = [[call("order", amount=5), call("order", amount=7)], "One.", "Two.", "Three."]
    shop = Shop(store, resumable=resumable, turns=turns, require_confirmation=True)
    events = await shop.say()
    first, second = requests(events)
    await shop.say(decide(first), idempotency_key="approve")
    assert shop.begun == [5]
    if after == "result":
        await shop.say(result_of(order_of(events), status="ordered"))
        await shop.say("Thanks.")
    elif after == "other approval":
        await shop.say(decide(second))
    else:
        await shop.say(None, invocation_id=events[0].invocation_id)
    assert shop.begun == ([5, 7] if after == "other approval" else [5])


async def test_the_model_reads_that_an_approved_silent_call_is_pending(
    store: Any, resumable: bool
) -> None:
    """It would call the tool again if it still read that the call requires confirmation."""
    shop = Shop(store, resumable=resumable, require_confirmation=True)
    (request,) = requests(await shop.say())
    await shop.say("Hm?")
    await shop.say(decide(request))
    last = shop.model.requests[-1].contents[-1]
    assert [p.function_response.response for p in last.parts or () if p.function_response] == [
        PENDING
    ]
    assert shop.begun == [5] and await shop.inbox() == ["result"]
