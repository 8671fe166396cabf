"""A model that transfers to an agent that is not there."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


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


other = LlmAgent(name="other", model=Scripted(replies=[]))
root_agent = LlmAgent(
    name="desk",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="nobody"), say("Sorry.")]),
    sub_agents=[other],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    try:
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent("Go")
        ):
            show(author=event.author, transfer=event.actions.transfer_to_agent)
    except ValueError:
        print("raised")


asyncio.run(main())
