"""The model calls a tool that is not there; a plugin answers for it."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
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


class Answers(BasePlugin):
    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        show(tool=tool.name, args=tool_args, error=isinstance(error, ValueError))
        return {"error": "no such tool"}


def real() -> str:
    """Is real."""
    return "real"


root_agent = Agent(
    name="desk", model=Scripted(replies=[call("unreal", x=1), say("Sorry.")]), tools=[real]
)
app = App(name="desk", root_agent=root_agent, plugins=[Answers(name="answers")])


async def main():
    runner = InMemoryRunner(app=app)
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
