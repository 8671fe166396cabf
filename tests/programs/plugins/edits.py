"""A plugin that edits the message, an event and a tool's result, and answers for a model."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
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


class Edits(BasePlugin):
    async def on_user_message_callback(self, *, invocation_context, user_message):
        return types.UserContent(user_message.parts[0].text.lower())

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        return {"result": result["result"] + "!"} if "result" in result else None

    async def on_event_callback(self, *, invocation_context, event):
        if event.content and event.content.parts[0].text == "Ok.":
            return Event(content=types.ModelContent("Edited."), custom_metadata={"by": "plugin"})
        return None


def ping() -> dict:
    """Pings."""
    return {"result": "pong"}


root_agent = Agent(
    name="desk", model=Scripted(replies=[call("ping"), say("Ok."), say("More.")]), tools=[ping]
)
app = App(name="desk", root_agent=root_agent, plugins=[Edits(name="edits")])


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["PING", "More"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
