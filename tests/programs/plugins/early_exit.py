"""A plugin's before_agent and before_model answers, and state that its hooks write."""

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


class Guard(BasePlugin):
    async def before_agent_callback(self, *, agent, callback_context):
        callback_context.state[f"saw_{agent.name}"] = True
        if "stop" in callback_context.user_content.parts[0].text:
            return types.ModelContent("Stopped by the guard.")
        return None

    async def before_model_callback(self, *, callback_context, llm_request):
        if "cache" in llm_request.contents[-1].parts[-1].text:
            return LlmResponse(content=types.ModelContent("From the cache."))
        return None

    async def after_run_callback(self, *, invocation_context):
        print("ran", len(invocation_context.session.events))


root_agent = Agent(name="desk", model=Scripted(replies=[say("Hello.")]))
app = App(name="desk", root_agent=root_agent, plugins=[Guard(name="guard")])


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["hi", "stop", "cache"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
