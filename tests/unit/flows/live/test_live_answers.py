"""Answers to requests within live runs: claimed once, refused whole, and their tools run."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent
from ostinato.errors import CallAlreadyAnsweredError, CallNotOpenError, InvalidAnswerError
from ostinato.events import Event
from ostinato.models import LlmRequest, LlmResponse
from ostinato.tools import FunctionTool
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.flows.live.kit import DONE, HEARD, LiveModel, call, calls, converse, said, text


class BothModel(LiveModel):
    """A model that also answers written turns, always in the same words."""

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        yield text("Done.")


class Desk:
    """A talk whose agent has asked, in a live run, whether it may pay."""

    def __init__(self, store: Store, *scripts: list[Any]) -> None:
        self.paid: list[int] = []

        def pay(amount: int) -> str:
            self.paid.append(amount)
            return "paid"

        ask = [HEARD, calls(call("pay", "a", amount=5)), HEARD, text("May I?"), DONE]
        self.model = BothModel(ask, *scripts)  # pyright: ignore[reportCallIssue]
        tool = FunctionTool(pay, require_confirmation=True)
        self.talk = Talk(LlmAgent(name="root", model=self.model, tools=[tool]), store)

    async def ask(self) -> types.FunctionCall:
        """Have the agent ask; return the request."""
        queue = LiveRequestQueue()
        queue.send_content(said("Pay"))
        events = await converse(self.talk, queue)
        found = [one for event in events for one in event.get_function_calls()]
        return next(one for one in found if one.name == "adk_request_confirmation")

    async def answer_live(self, *messages: types.Content) -> list[Event]:
        """Send messages in a live run, and close it at the end of a turn."""
        queue = LiveRequestQueue()
        for message in messages:
            queue.send_content(message)
        return await converse(self.talk, queue)

    async def answers(self) -> int:
        """Return how many messages that answer calls are in the log."""
        return sum(
            event.author == "user" and bool(event.get_function_responses())
            for event in await self.talk.stored()
        )


THANKS: list[LlmResponse | str] = [HEARD, text("Thanks"), DONE]


async def test_an_approval_in_a_live_run_runs_the_tool_once(store: Store) -> None:
    desk = Desk(store, [*THANKS], [*THANKS])
    asked = await desk.ask()
    await desk.answer_live(answer_to(asked, {"confirmed": True}))
    assert desk.paid == [5]
    assert desk.model.connections[1].texts == ["pay={'result': 'paid'}"]
    with pytest.raises(CallAlreadyAnsweredError):
        await desk.answer_live(answer_to(asked, {"confirmed": True}))
    assert isinstance(
        await desk.talk.fails(answer_to(asked, {"confirmed": True})), CallAlreadyAnsweredError
    )
    assert desk.paid == [5]
    assert await desk.answers() == 1


async def test_the_second_answer_of_one_live_run_is_refused(store: Store) -> None:
    desk = Desk(store, [HEARD, HEARD])
    asked = await desk.ask()
    yes = answer_to(asked, {"confirmed": True})
    with pytest.raises(CallAlreadyAnsweredError):
        await desk.answer_live(yes, yes)
    assert desk.paid == [5]
    assert await desk.answers() == 1


async def test_a_rejection_in_a_live_run_pays_nothing(store: Store) -> None:
    desk = Desk(store, [*THANKS])
    asked = await desk.ask()
    await desk.answer_live(answer_to(asked, {"confirmed": False}))
    assert desk.paid == []
    assert "rejected" in desk.model.connections[1].texts[0]


async def test_a_refused_answer_stores_nothing_and_the_call_stays_open(store: Store) -> None:
    desk = Desk(store, [HEARD], [HEARD], [HEARD])
    asked = await desk.ask()
    with pytest.raises(InvalidAnswerError):
        await desk.answer_live(answer_to(asked, {"confirmed": "maybe"}))
    unknown = asked.model_copy(update={"id": "none"})
    with pytest.raises(CallNotOpenError):
        await desk.answer_live(answer_to(unknown, {"confirmed": True}))
    named = asked.model_copy(update={"name": "pay"})
    with pytest.raises(InvalidAnswerError):
        await desk.answer_live(answer_to(named, {"confirmed": True}))
    assert await desk.answers() == 0
    await desk.talk.say(answer_to(asked, {"confirmed": True}))
    assert desk.paid == [5]


async def test_with_a_model_that_cannot_speak_an_answer_claims_nothing(store: Store) -> None:
    desk = Desk(store)
    asked = await desk.ask()
    broken: Any = RuntimeError("no live model")
    desk.model.scripts.append(broken)
    with pytest.raises(RuntimeError, match="no live model"):
        await desk.answer_live(answer_to(asked, {"confirmed": True}))
    assert await desk.answers() == 0
    await desk.talk.say(answer_to(asked, {"confirmed": True}))
    assert desk.paid == [5]
