"""A tool that runs another agent with a runner of its own."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
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


inner = Agent(name="inner", model=Scripted(replies=[say("Inner says hi.")]))


async def consult(question: str, tool_context: ToolContext) -> str:
    """Consults."""
    runner = InMemoryRunner(agent=inner, app_name="inner")
    session = await runner.session_service.create_session(app_name="inner", user_id="u")
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent(question)
    ):
        if event.is_final_response():
            return event.content.parts[0].text
    return "nothing"


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("consult", question="Hi?"), say("It said hi.")]),
    tools=[consult],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Consult"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
