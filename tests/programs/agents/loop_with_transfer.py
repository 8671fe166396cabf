"""A loop whose member hands over to a sub-agent of its own."""

import asyncio

from google.adk.agents import LlmAgent, LoopAgent
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


helper = LlmAgent(name="helper", model=Scripted(replies=[say("h1"), say("h2")]))
member = LlmAgent(
    name="member",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="helper") for _ in range(2)]),
    sub_agents=[helper],
)
root_agent = LoopAgent(name="loop", max_iterations=2, sub_agents=[member])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Go"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
