"""ExampleTool and its providers: what the model is shown, and when."""

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.examples import BaseExampleProvider, Example
from ostinato.examples.example_util import build_example_si, convert_examples_to_text
from ostinato.testing import Conversation, ScriptedModel
from ostinato.tools import ExampleTool


def said(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def weather() -> Example:
    call = types.FunctionCall(name="weather", args={"city": "Rome", "days": 2})
    answer = types.FunctionResponse(name="weather", response={"sky": "clear"})
    return Example(
        input=said("user", "Rome?"),
        output=[
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=answer)]),
            said("model", "Clear."),
        ],
    )


class Provider(BaseExampleProvider):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_examples(self, query: str) -> list[Example]:
        self.asked.append(query)
        return [weather()] if "weather" in query else []


def test_the_text_shows_every_step() -> None:
    text = convert_examples_to_text([weather(), weather()], "any")
    steps = [
        "[user] Rome?",
        "[model] calls weather(city='Rome', days=2)",
        '[user] weather returned {"sky": "clear"}',
        "[model] Clear.",
    ]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert text.count("[user] Rome?") == 2
    assert text.index("EXAMPLE 1") < text.index("EXAMPLE 2")


def test_no_examples_make_no_text() -> None:
    assert convert_examples_to_text([], None) == ""
    assert build_example_si([], "q", None) == ""


def test_parts_of_other_kinds_are_written_as_json() -> None:
    part = types.Part(file_data=types.FileData(file_uri="gs://a/b"))
    example = Example(input=types.Content(role="user", parts=[part]), output=[])
    assert '{"file_data": {"file_uri": "gs://a/b"}}' in convert_examples_to_text([example], None)


def test_neither_list_nor_provider() -> None:
    wrong: Any = "examples"
    with pytest.raises(TypeError, match="str"):
        build_example_si(wrong, "q", None)
    with pytest.raises(ValueError):
        ExampleTool(wrong)


async def test_a_run_shows_them_with_every_request() -> None:
    model = ScriptedModel(["One.", "Two."])
    agent = Agent(
        name="root", model=model, instruction="Be kind.", tools=[ExampleTool([weather()])]
    )
    talk = Conversation(agent)
    await talk.say("Hello")
    await talk.say([types.Part(inline_data=types.Blob(data=b"a", mime_type="image/png"))])
    first, second = (request.instruction for request in model.requests)
    assert first.index("Be kind.") < first.index("Rome?")
    assert "Rome?" not in second, "a message without words has no examples"
    assert model.requests[0].tool_names == []


async def test_a_provider_is_asked_with_the_question() -> None:
    provider = Provider()
    model = ScriptedModel(["One.", "Two."])
    talk = Conversation(Agent(name="root", model=model, tools=[ExampleTool(provider)]))
    await talk.say([types.Part(text="The"), types.Part(text="weather")])
    await talk.say("Tea")
    assert provider.asked == ["The\nweather", "Tea"]
    assert ["Rome?" in request.instruction for request in model.requests] == [True, False]
