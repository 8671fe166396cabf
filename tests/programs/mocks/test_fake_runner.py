"""pytest style: a service of one's own around a Runner that is mocked."""

from unittest.mock import MagicMock, create_autospec

import pytest
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.genai import types


class ChatService:
    def __init__(self, runner, sessions):
        self.runner, self.sessions = runner, sessions

    async def chat(self, user, text):
        session = await self.sessions.create_session(app_name="chat", user_id=user)
        async for event in self.runner.run_async(
            user_id=user, session_id=session.id, new_message=types.UserContent(text)
        ):
            if event.is_final_response():
                return event.content.parts[0].text
        return None


async def stream(*events):
    for event in events:
        yield event


@pytest.fixture
def sessions():
    service = create_autospec(BaseSessionService, instance=True)
    service.create_session.return_value = Session(id="s", app_name="chat", user_id="u")
    return service


@pytest.mark.asyncio
async def test_the_final_text(sessions):
    runner = MagicMock(spec=Runner)
    runner.run_async.return_value = stream(
        Event(author="a", content=types.ModelContent("part"), partial=True),
        Event(author="a", content=types.ModelContent("whole")),
    )
    assert await ChatService(runner, sessions).chat("u", "hi") == "whole"
    asked = runner.run_async.call_args.kwargs
    assert asked["session_id"] == "s"
    assert asked["new_message"] == types.UserContent("hi")
    assert runner.agent is not None


@pytest.mark.asyncio
async def test_no_answer(sessions):
    runner = MagicMock(spec=Runner)
    runner.run_async.return_value = stream()
    assert await ChatService(runner, sessions).chat("u", "hi") is None
    sessions.create_session.assert_awaited_once_with(app_name="chat", user_id="u")
