"""A plugin that counts in its own fields and in the state, over two runs and two sessions."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
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


class Counts(BasePlugin):
    def __init__(self):
        super().__init__(name="counts")
        self.runs = 0

    async def before_run_callback(self, *, invocation_context):
        self.runs += 1

    async def before_agent_callback(self, *, agent, callback_context):
        callback_context.state["user:runs"] = callback_context.state.get("user:runs", 0) + 1

    async def after_model_callback(self, *, callback_context, llm_response):
        callback_context.state["last"] = llm_response.content.parts[0].text

    async def close(self):
        print("closed after", self.runs)


async def main():
    agent = Agent(name="desk", model=Scripted(replies=[say("1"), say("2"), say("3")]))
    async with InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=[Counts()])) as runner:
        service = runner.session_service
        for id in ("a", "b", "a"):
            if await service.get_session(app_name="desk", user_id="u", session_id=id) is None:
                await service.create_session(app_name="desk", user_id="u", session_id=id)
            async for _ in runner.run_async(
                user_id="u", session_id=id, new_message=types.UserContent("Hi")
            ):
                pass
        show_session(await service.get_session(app_name="desk", user_id="u", session_id="a"))


asyncio.run(main())
