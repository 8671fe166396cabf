"""Thoughts and signatures beside calls: kept in the session and sent back to the model."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def ping() -> str:
    """Pings."""
    return "pong"


call_part = types.Part.from_function_call(name="ping", args={})
call_part.thought_signature = b"sig"
root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[
            types.ModelContent([types.Part(text="I ping.", thought=True), call_part]),
            types.ModelContent([types.Part(text="hm", thought=True), types.Part(text="Ok.")]),
            say("Again."),
        ]
    ),
    tools=[ping],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Ping", "More"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
