"""The sync Runner.run in a plain script."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def ping() -> str:
    """Pings."""
    return "pong"


root_agent = Agent(
    name="desk", model=Scripted(replies=[call("ping"), say("Ok."), say("Again.")]), tools=[ping]
)
service = InMemorySessionService()
asyncio.run(service.create_session(app_name="desk", user_id="u", session_id="s"))
runner = Runner(agent=root_agent, app_name="desk", session_service=service)
for text in ("Hi", "More"):
    for event in runner.run(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(text=text)]),
    ):
        if event.is_final_response():
            print("final:", event.content.parts[0].text)
show_session(asyncio.run(service.get_session(app_name="desk", user_id="u", session_id="s")))
