"""pytest style: contents, events and parts of a run compared with `==` to ones made by hand."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class Calls(BaseLlm):
    model: str = "calls"
    requests: list = []

    async def generate_content_async(self, llm_request, stream=False):
        self.requests.append(llm_request)
        if len(self.requests) == 1:
            part = types.Part.from_function_call(name="ping", args={"n": 1})
            yield LlmResponse(content=types.Content(role="model", parts=[part]))
        else:
            yield LlmResponse(content=types.ModelContent("done"))


def ping(n: int) -> dict:
    """Pings."""
    return {"pong": n}


@pytest.fixture
async def run():
    model = Calls()
    runner = InMemoryRunner(agent=LlmAgent(name="desk", model=model, tools=[ping]), app_name="t")
    await runner.session_service.create_session(app_name="t", user_id="u", session_id="s")
    events = [
        event
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent("hi")
        )
    ]
    session = await runner.session_service.get_session(app_name="t", user_id="u", session_id="s")
    return events, session, model.requests


@pytest.mark.asyncio
async def test_parts_of_events(run):
    events, _, _ = run
    assert events[2].content.parts == [types.Part(text="done")]
    assert events[2].content == types.Content(role="model", parts=[types.Part(text="done")])
    assert events[2].content.parts[0] == types.Part.from_text(text="done")
    assert types.Part(text="done") == events[2].content.parts[0]
    assert events[1].get_function_responses()[0].response == {"pong": 1}


@pytest.mark.asyncio
async def test_session_and_requests(run):
    events, session, requests = run
    assert session.events[0].content == types.UserContent("hi")
    assert requests[0].contents == [types.UserContent("hi")]
    assert session.events[1:] == events
    assert session.events[0].actions == EventActions()


def test_events_by_hand():
    content = types.UserContent("hi")
    event = Event(author="user", content=content, id="1", timestamp=1.0)
    assert event.content == content
    assert event == Event(author="user", content=content, id="1", timestamp=1.0)
    assert event != Event(author="user", content=content, id="2", timestamp=1.0)
    assert Event.model_validate_json(event.model_dump_json()).model_dump() == event.model_dump()
    assert event.model_copy(update={"author": "a"}).author == "a"
    assert Event(author="a").id != Event(author="a").id
