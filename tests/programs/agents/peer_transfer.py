"""Two specialists under one coordinator: one hands over to its peer."""

import asyncio

from google.adk.agents import LlmAgent
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


sales = LlmAgent(
    name="sales",
    description="Sells.",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="support")]),
)
support = LlmAgent(
    name="support",
    description="Helps.",
    model=Scripted(replies=[say("Turn it off and on."), say("Then call us.")]),
)
root_agent = LlmAgent(
    name="front",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="sales")]),
    sub_agents=[sales, support],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["It is broken", "Still broken"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
