"""An agent with tools as a node between functions, and state that its tool writes."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import LlmAgent
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


def look(city: str, tool_context: ToolContext) -> dict:
    """Looks."""
    tool_context.state["city"] = city
    return {"sun": True}


def prepare(node_input: str) -> str:
    return f"Is there sun in {node_input}?"


desk = LlmAgent(
    name="desk", model=Scripted(replies=[call("look", city="Rome"), say("Sun.")]), tools=[look]
)


def tell(node_input: str, city: str):
    return Event(message=f"{city}: {node_input}")


root_agent = Workflow(name="weather", edges=[("START", prepare, desk, tell)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Rome"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
