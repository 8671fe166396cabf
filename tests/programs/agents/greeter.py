"""An agent without tools, asked twice in one session."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


root_agent = Agent(
    name="greeter",
    model=Scripted(replies=[say("Hello, Ann."), say("Your name is Ann.")]),
    instruction="Greet people.",
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["I am Ann", "Who am I?"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
