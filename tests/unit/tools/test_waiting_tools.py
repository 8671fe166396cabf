"""get_user_choice and request_input: the run waits for the user and goes on with the answer."""

import pytest

from ostinato.agents import Agent
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import get_user_choice, request_input
from tests.support.optionals import present


@pytest.mark.spec(136)
async def test_a_choice() -> None:
    model = ScriptedModel([call("get_user_choice", options=["tea", "coffee"]), "Tea."])
    talk = Conversation(Agent(name="root", model=model, tools=[get_user_choice]))
    await talk.say("Serve")
    (waiting,) = talk.pending()
    assert waiting.args == {"options": ["tea", "coffee"]}
    assert len(model.requests) == 1
    await talk.answer(waiting, {"result": "tea"})
    assert talk.text == "Tea."
    assert model.requests[1].function_responses[0].response == {"result": "tea"}


@pytest.mark.spec(136)
async def test_a_question() -> None:
    asked = call("adk_request_input", message="Your name?")
    model = ScriptedModel([asked, "Hello Ada."])
    talk = Conversation(Agent(name="root", model=model, tools=[request_input]))
    await talk.say("Greet")
    (waiting,) = talk.pending()
    assert waiting.name == "adk_request_input"
    assert model.requests[0].tool_names == ["adk_request_input"]
    await talk.answer(waiting, {"result": "Ada"})
    assert talk.text == "Hello Ada."


def test_what_the_model_is_told_of_the_question() -> None:
    declaration = request_input._get_declaration()
    assert declaration is not None
    schema = present(declaration.parameters_json_schema)
    assert list(schema["properties"]) == ["message", "response_schema"]
    assert schema["required"] == ["message"]
