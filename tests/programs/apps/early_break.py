"""A caller that leaves a run by break, and one that closes it; the next turn goes on."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


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


async def main():
    agent = Agent(
        name="desk",
        model=Scripted(replies=[call("ping"), say("One."), say("Two."), say("Three.")]),
        tools=[ping],
    )
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    run = runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("Go"))
    async for event in run:
        if event.get_function_responses():
            break
    await run.aclose()
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(events=len(session.events))
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("More")
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
