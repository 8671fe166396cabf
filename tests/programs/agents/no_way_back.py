"""A specialist that may not hand back: the next turn begins at the root again."""

import asyncio

from google.adk.agents import LlmAgent
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


expert = LlmAgent(
    name="expert",
    model=Scripted(replies=[say("Forty-two.")]),
    disallow_transfer_to_parent=True,
    disallow_transfer_to_peers=True,
)
root_agent = LlmAgent(
    name="host",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="expert"), say("Goodbye.")]),
    sub_agents=[expert],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["The answer?", "Bye"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
