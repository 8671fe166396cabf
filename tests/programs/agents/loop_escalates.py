"""A loop of writer and critic that the critic ends with exit_loop."""

import asyncio

from google.adk.agents import LlmAgent, LoopAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import exit_loop
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


root_agent = LoopAgent(
    name="refine",
    max_iterations=5,
    sub_agents=[
        LlmAgent(
            name="writer",
            model=Scripted(replies=[say("Draft 1"), say("Draft 2")]),
            output_key="draft",
        ),
        LlmAgent(
            name="critic",
            model=Scripted(replies=[say("Longer."), call("exit_loop")]),
            tools=[exit_loop],
        ),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Write"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
