"""pytest style: an agent whose Gemini model is patched, run by a real runner."""

from unittest.mock import patch

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import Gemini, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


async def fake(self, llm_request, stream=False):
    asked = llm_request.contents[-1].parts[-1].text
    yield LlmResponse(content=types.ModelContent(f"{llm_request.model}: {asked}"))


@pytest.fixture
def agent(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "not-a-key")
    return LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Help.")


async def ask(agent, text):
    runner = InMemoryRunner(agent=agent, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="u")
    return [
        event
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        )
    ]


@pytest.mark.asyncio
async def test_patch_object(agent):
    with patch.object(Gemini, "generate_content_async", fake):
        events = await ask(agent, "hi")
    assert [event.content.parts[0].text for event in events] == ["gemini-2.5-flash: hi"]
    assert events[0].is_final_response()


@pytest.mark.asyncio
async def test_patch_by_name(agent):
    with patch("google.adk.models.google_llm.Gemini.generate_content_async", new=fake):
        (event,) = await ask(agent, "again")
    assert event.author == "desk"
    assert event.content.parts == [types.Part(text="gemini-2.5-flash: again")]


@pytest.mark.asyncio
async def test_a_model_instance_that_is_patched():
    model = Gemini(model="gemini-2.0-flash")
    with patch.object(Gemini, "generate_content_async", autospec=True) as method:
        method.side_effect = fake
        (event,) = await ask(LlmAgent(name="desk", model=model), "hi")
    assert method.call_count == 1
    assert event.content.parts[0].text == "gemini-2.0-flash: hi"
