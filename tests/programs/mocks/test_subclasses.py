"""pytest style: subclasses of events, contents, sessions and tools, as projects make them."""

import warnings

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.sessions import Session
from google.adk.tools import BaseTool
from google.genai import types

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # pydantic's: the field shadows a property

    class TracedEvent(Event):
        trace: str = ""
        message: str = ""


class Labelled(types.Content):
    def label(self):
        return f"{self.role}:{self.parts[0].text}"


class OwnSession(Session):
    tenant: str = "t1"


class OwnAgent(LlmAgent):
    floor: int = 1

    def model_post_init(self, context):
        super().model_post_init(context)
        self.description = f"On floor {self.floor}."


def test_fields_of_an_event():
    event = TracedEvent(author="a", trace="x", message="m")
    assert (event.trace, event.message, event.content) == ("x", "m", None)
    event.message = "n"
    assert event.model_dump()["message"] == "n"
    assert isinstance(event, Event)


def test_an_own_content_is_taken():
    content = Labelled(role="user", parts=[types.Part(text="hi")])
    assert content.label() == "user:hi"
    event = Event(author="user", content=content)
    assert (event.content.role, event.content.parts) == ("user", content.parts)


def test_message_sets_the_content():
    event = Event(author="a", message="hi")
    assert event.content.parts[0].text == "hi"
    event.message = None
    assert event.content is None
    event.message = "more"
    assert event.message.parts[0].text == "more"


def test_session():
    session = OwnSession(id="s", app_name="a", user_id="u")
    assert session.tenant == "t1"
    assert session.state == {} and session.events == []


def test_agent():
    agent = OwnAgent(name="a", floor=3)
    assert agent.description == "On floor 3."
    assert agent.clone(update={"name": "b"}).floor == 3


def test_tool_without_declaration():
    tool = BaseTool(name="t", description="d")
    assert tool._get_declaration() is None
    with pytest.raises(NotImplementedError):
        import asyncio

        asyncio.run(tool.run_async(args={}, tool_context=None))


def test_model_that_lists_names():
    class Mine(BaseLlm):
        @classmethod
        def supported_models(cls):
            return ["mine-.*"]

        async def generate_content_async(self, llm_request, stream=False):
            yield LlmResponse()

    from google.adk.models import LLMRegistry

    LLMRegistry.register(Mine)
    assert LLMRegistry.resolve("mine-7") is Mine
    assert LlmAgent(name="a", model="mine-7").canonical_model.model == "mine-7"
