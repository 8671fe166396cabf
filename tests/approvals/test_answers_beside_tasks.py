"""Answers to an agent's own call while a task that it opened later waits for the user's words."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, ScriptedModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from tests.approvals.kit import NAMES, PLACE, decide, requests


class Shop:
    """An agent whose own call waits, and which opens a task at the next message.

    Attributes:
      paid: what the tool was run with.
      asked: how often the task's model was called.
      is_failing: whether the task's model fails.
    """

    def __init__(self, service: Any, resumable: bool, first: str = "pay") -> None:
        self.paid: list[int] = []
        self.asked = 0
        self.is_failing = False
        self.service = service

        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        def book(amount: int) -> dict[str, str]:
            """Book."""
            return {"status": "booked"}

        def reply(request: LlmRequest) -> Any:
            self.asked += 1
            if self.is_failing:
                raise RuntimeError("503")
            if "order" in str(request.contents[-1]):
                return call("pay", amount=2)
            if "blue" in str(request.contents[-1]):
                return call("finish_task", result="blue")
            return "Which colour?"

        tools = [FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(book)]
        packer = LlmAgent(
            name="packer", description="Packs.", mode="task", model=FunctionModel(reply),
            tools=tools[:1],
        )  # fmt: skip
        self.model = ScriptedModel(
            [
                call(first, amount=1),
                *(["Booked."] if first == "book" and not resumable else []),
                call("packer", request="pack"),
                *["Done."] * 4,
            ]
        )
        root = LlmAgent(name="shop", model=self.model, tools=tools, sub_agents=[packer])
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        app = App(name="desk", root_agent=root, resumability_config=config)
        self.runner = Runner(app=app, session_service=service, auto_create_session=True)

    async def say(self, message: Any) -> list[Any]:
        return [e async for e in self.runner.run_async(**PLACE, new_message=message)]

    async def open_task(self) -> Any:
        """Have the call wait, then the task; return the request for the call's approval."""
        (request,) = requests(await self.say("Pay."))
        await self.say("Pack.")
        assert self.asked == 1
        return request

    async def find_results(self, name: str) -> list[Any]:
        session = await self.service.get_session(**NAMES)
        given = [one for event in session.events for one in event.get_function_responses()]
        return [one.response for one in given if one.name == name]


@pytest.fixture(params=[False, True], ids=["plain", "resumable"])
def resumable(request: Any) -> bool:
    return request.param


@pytest.mark.parametrize("confirmed", [True, False])
async def test_an_answer_to_the_caller_does_not_ask_its_waiting_task(
    store: Any, resumable: bool, confirmed: bool
) -> None:
    shop = Shop(store, resumable)
    request = await shop.open_task()
    asked = len(shop.model.requests)
    shop.is_failing = True
    await shop.say(decide(request, confirmed))
    assert shop.paid == ([1] if confirmed else []) and shop.asked == 1
    assert len(await shop.find_results("pay")) == 2
    assert len(shop.model.requests) == asked  # the caller waits for its task
    shop.is_failing = False
    await shop.say("blue")
    assert shop.asked == 2 and await shop.find_results("packer") == [{"result": "blue"}]
    assert shop.paid == ([1] if confirmed else []) and len(shop.model.requests) == asked + 1


async def test_an_approval_with_words_does_not_ask_the_waiting_task(
    store: Any, resumable: bool
) -> None:
    shop = Shop(store, resumable)
    answer = decide(await shop.open_task())
    answer.parts = [*(answer.parts or ()), types.Part(text="Quickly.")]
    await shop.say(answer)
    assert shop.paid == [1] and shop.asked == 1


async def test_a_result_for_the_caller_does_not_ask_its_waiting_task(
    store: Any, resumable: bool
) -> None:
    shop = Shop(store, resumable, "book")
    events = await shop.say("Book.")
    made = next(c for e in events for c in e.get_function_calls())
    if not shop.asked:  # a resumable agent continues beside the call
        await shop.say("Pack.")
    assert shop.asked == 1
    asked = len(shop.model.requests)
    await shop.say(decide(made, name="book"))
    assert shop.asked == 1 and len(shop.model.requests) == asked
    await shop.say("blue")
    assert "confirmed" in str(shop.model.requests[-1].contents)


async def test_a_message_decides_for_the_caller_and_for_its_task(
    store: Any, resumable: bool
) -> None:
    shop = Shop(store, resumable)
    first = await shop.open_task()
    (second,) = requests(await shop.say("order"))
    both = decide(second)
    both.parts = [*(both.parts or ()), *(decide(first).parts or ())]
    await shop.say(both)
    assert sorted(shop.paid) == [1, 2] and shop.asked == 3


@pytest.mark.parametrize("own_first", [True, False])
async def test_a_task_that_fails_does_not_lose_the_callers_decision(
    store: Any, resumable: bool, own_first: bool
) -> None:
    shop = Shop(store, resumable)
    first = await shop.open_task()
    (second,) = requests(await shop.say("order"))
    both, other = (first, second) if own_first else (second, first)
    answer = decide(both)
    answer.parts = [*(answer.parts or ()), *(decide(other).parts or ())]
    shop.is_failing = True
    with pytest.raises(RuntimeError, match="503"):
        await shop.say(answer)
    assert sorted(shop.paid) == [1, 2]
