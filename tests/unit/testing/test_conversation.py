"""Conversation: one session, several turns, answers to calls that wait, and the fixture for it."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import Agent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.apps import App
from ostinato.errors import InvalidAnswerError, NoOutputError
from ostinato.events import Event
from ostinato.runners import InMemoryRunner
from ostinato.testing import Conversation, ScriptedModel, call, final_text
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from ostinato.workflow import Workflow, node


async def test_turns_share_a_session() -> None:
    model = ScriptedModel(["One.", "Two."])
    talk = Conversation(Agent(name="root", model=model), state={"a": 1})
    events = await talk.say("Hello")
    assert events is talk.events
    assert talk.text == final_text(events) == "One."
    await talk.say(types.Content(role="user", parts=[types.Part(text="And?")]))
    assert talk.text == "Two."
    assert model.requests[1].texts == ["Hello", "One.", "And?"]
    session = await talk.session()
    assert session.state == {"a": 1}
    assert len(session.events) == 4


async def test_a_call_that_waits_is_answered() -> None:
    def ask() -> None:
        """Ask somebody."""

    model = ScriptedModel([call("ask"), "Good."])
    talk = Conversation(Agent(name="root", model=model, tools=[LongRunningFunctionTool(ask)]))
    await talk.say("Ask them")
    (waiting,) = talk.pending()
    assert waiting.name == "ask"
    await talk.answer(waiting, {"answer": "yes"})
    assert talk.text == "Good."
    assert talk.pending() == []
    assert model.requests[1].function_responses[0].response == {"answer": "yes"}


async def test_a_call_stays_pending_after_a_refused_answer() -> None:
    def pay(amount: int) -> str:
        return f"Paid {amount}."

    model = ScriptedModel([call("pay", amount=9), "Paid."])
    tool = FunctionTool(pay, require_confirmation=True)
    talk = Conversation(Agent(name="root", model=model, tools=[tool]))
    await talk.say("Pay 9")
    (waiting,) = talk.pending()
    with pytest.raises(InvalidAnswerError):
        await talk.answer(waiting, {"confirmed": "perhaps"})
    assert talk.pending() == [waiting]
    await talk.answer(waiting, {"confirmed": True})
    assert talk.text == "Paid."


async def test_an_answer_may_be_a_plain_value() -> None:
    def ask() -> None:
        """Ask somebody."""

    model = ScriptedModel([call("ask"), "Good."])
    talk = Conversation(Agent(name="root", model=model, tools=[LongRunningFunctionTool(ask)]))
    await talk.say("Ask them")
    await talk.answer(talk.pending()[0], True)
    assert model.requests[1].function_responses[0].response == {"result": True}


class Reply(BaseModel):
    amount: int


async def test_the_output_is_typed() -> None:
    def pay(amount: int) -> str:
        return f"Paid {amount}."

    model = ScriptedModel([call("pay", amount=9), call("set_model_response", amount=9)])
    tool = FunctionTool(pay, require_confirmation=True)
    talk = Conversation(Agent(name="root", model=model, tools=[tool], output_schema=Reply))
    streaming = RunConfig(streaming_mode=StreamingMode.SSE)
    await talk.say("Pay 9", run_config=streaming)
    with pytest.raises(NoOutputError, match="waits for a person's answer to pay"):
        _ = talk.output
    await talk.answer(talk.pending()[0], {"confirmed": True}, run_config=streaming)
    assert talk.output == Reply(amount=9)


async def test_the_output_without_a_schema_is_the_text() -> None:
    talk = Conversation(Agent(name="root", model=ScriptedModel(["Hello."])))
    with pytest.raises(NoOutputError, match="'root' has no output"):
        _ = talk.output
    await talk.say("Hi")
    assert talk.output == "Hello."


async def test_the_output_of_a_node_is_its_text() -> None:
    @node
    def greet(node_input: str) -> Event:
        return Event(message="Hello.")

    flow = Workflow(name="flow", edges=[("START", greet)])
    talk = Conversation(InMemoryRunner(node=flow))
    await talk.say("Hi")
    assert talk.output == "Hello."


async def test_apps_and_runners_are_taken_as_they_are() -> None:
    app = App(name="shop", root_agent=Agent(name="root", model=ScriptedModel(["One."])))
    talk = Conversation(app, user_id="ada", session_id="s1")
    await talk.say("Hello")
    assert (await talk.session()).app_name == "shop"
    assert (await talk.session()).user_id == "ada"
    runner = InMemoryRunner(agent=Agent(name="root", model=ScriptedModel(["Two."])), app_name="x")
    other = Conversation(runner)
    assert other.runner is runner
    await other.say("Hello")
    assert other.text == "Two."


async def test_the_fixture(
    runner_factory: Callable[..., Conversation], scripted_model: Callable[..., Any]
) -> None:
    talk = runner_factory(Agent(name="root", model=scripted_model("Hi.")), user_id="u")
    await talk.say("Hello")
    assert talk.text == "Hi."
