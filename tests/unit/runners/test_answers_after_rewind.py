"""A rewind that hides an answer, and not its question: the question waits again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ostinato.agents import BaseAgent, LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.errors import CallAlreadyAnsweredError, NothingToResumeError
from ostinato.events import Event
from ostinato.events.pending import pending_calls
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from ostinato.types import Content, Part
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import SESSION, USER, Talk
from tests.unit.runners.owners import PLACE as TALK
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners

PLACE: dict[str, Any] = {"user_id": "ann", "session_id": "one"}


def paying(paid: list[str]) -> LlmAgent:
    def pay(what: str) -> str:
        """Pay."""
        paid.append(what)
        return "paid"

    def answer(request: Any) -> Any:
        said = request.contents[-1].parts[0]
        if said.function_response is not None:
            return "Done."
        return call("pay", what="bread") if said.text == "Pay" else "Hello."

    tools: list[Any] = [FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name="payer", model=FunctionModel(answer), tools=tools)


def graph(paid: list[str]) -> Workflow:
    return Workflow(name="graph", edges=[(START, paying(paid))])


@pytest.mark.parametrize("make", [paying, graph])
@pytest.mark.parametrize("resumable", [False, True])
async def test_the_question_waits_again_and_its_answer_is_acted_on(
    make: Any, resumable: bool
) -> None:
    paid: list[str] = []
    root: BaseAgent | Workflow = make(paid)
    store = InMemorySessionService()
    config = ResumabilityConfig(is_resumable=resumable)
    app = App(name="shop", root_agent=root, resumability_config=config)
    runner = Runner(app=app, session_service=store)
    await store.create_session(app_name="shop", **PLACE)

    async def say(part: Part) -> None:
        message = Content(role="user", parts=[part])
        async for _ in runner.run_async(**PLACE, new_message=message):
            pass

    async def events() -> Sequence[Event]:
        session = await store.get_session(app_name="shop", **PLACE)
        assert session is not None
        return session.events

    await say(Part(text="Pay"))
    (asked,) = pending_calls(await events())
    await say(Part(text="Hello"))
    hello = [event.invocation_id for event in await events() if event.author == "user"][-1]
    await say(asked.answer({"confirmed": False}))
    assert not [one for one in pending_calls(await events()) if one.call == asked.call]
    await runner.rewind_async(**PLACE, rewind_before_invocation_id=hello)
    assert pending_calls(await events()) == [asked]
    await say(asked.answer({"confirmed": True}))
    assert paid == ["bread"]
    assert not pending_calls(await events())
    answers = [e.get_function_responses() for e in await events()]
    assert {"result": "paid"} in [one.response for found in answers for one in found]


@pytest.mark.parametrize("answered", [False, True])
async def test_a_question_is_back_when_a_second_rewind_hides_the_one_that_took_it_back(
    two_owners: list[Owner], answered: bool
) -> None:
    paid: list[str] = []
    talk = Talk(paying(paid), two_owners[0].store)
    service = two_owners[1].service

    async def waiting() -> list[str]:
        shown = [one.call.id for one in pending_calls(await talk.stored())]
        found = await service.open_requests(TALK.app_name, USER)
        assert [one.request.call_id for one in found.requests] == shown
        return shown  # type: ignore[return-value]

    async def rewind(invocation_id: str) -> None:
        await talk.runner.rewind_async(
            user_id=USER, session_id=SESSION, rewind_before_invocation_id=invocation_id
        )

    first = (await talk.say("Pay"))[0].invocation_id
    (asked,) = pending_calls(await talk.stored())
    if answered:
        await talk.answer(asked.call, {"confirmed": False})
    second = (await talk.say("Hello"))[0].invocation_id
    await rewind(first)
    assert await waiting() == []
    await rewind(second)
    assert await waiting() == ([] if answered else [asked.call.id])
    if answered:
        with pytest.raises(CallAlreadyAnsweredError):
            await talk.answer(asked.call, {"confirmed": True})
    else:
        await talk.answer(asked.call, {"confirmed": True})
    assert paid == ([] if answered else ["bread"])
    assert await waiting() == []


@pytest.mark.parametrize("make", [paying, graph])
@pytest.mark.parametrize("resumable", [False, True])
async def test_a_rewound_invocation_is_not_resumed_without_a_message(
    make: Any, resumable: bool
) -> None:
    paid: list[str] = []
    store = InMemorySessionService()
    config = ResumabilityConfig(is_resumable=resumable)
    app = App(name="shop", root_agent=make(paid), resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)
    events = [one async for one in runner.run_async(**PLACE, new_message="Pay")]
    first = events[0].invocation_id
    await runner.rewind_async(**PLACE, rewind_before_invocation_id=first)
    before = await store.get_session(app_name="shop", **PLACE)
    with pytest.raises(NothingToResumeError, match="was rewound"):
        async for _ in runner.run_async(**PLACE, invocation_id=first):
            pass
    after = await store.get_session(app_name="shop", **PLACE)
    assert before is not None and after is not None and len(before.events) == len(after.events)
    assert paid == []
    await runner.close()
