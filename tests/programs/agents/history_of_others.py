"""What an agent is told of what other agents said and called."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def look_up(city: str) -> dict:
    """Looks up a city."""
    return {"population": 7}


second = LlmAgent(name="second", model=Scripted(replies=[say("I saw it.")]))
third = LlmAgent(
    name="third", model=Scripted(replies=[say("I saw nothing.")]), include_contents="none"
)
first = LlmAgent(
    name="first",
    model=Scripted(replies=[call("look_up", city="Rome"), say("Seven people.")]),
    tools=[look_up],
)
root_agent = SequentialAgent(name="line", sub_agents=[first, second, third])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["How many?"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
