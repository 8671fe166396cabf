"""A rewind that hides an answer, and not its question: the question waits again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ostinato.agents import BaseAgent, LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import Event
from ostinato.events.pending import pending_calls
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from ostinato.types import Content, Part
from ostinato.workflow import START, Workflow

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
