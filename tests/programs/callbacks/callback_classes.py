"""Callbacks as methods, callable objects, partials and static methods."""

import asyncio
import functools

from google.adk.agents import Agent
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


class Guard:
    def __init__(self, name):
        self.name = name

    def __call__(self, callback_context, llm_request):
        callback_context.state[f"{self.name}_called"] = True

    async def method(self, callback_context):
        callback_context.state[f"{self.name}_method"] = callback_context.agent_name

    @staticmethod
    def static(callback_context, llm_response):
        return LlmResponse(content=types.ModelContent("Changed."))


def partial(callback_context, word):
    return types.ModelContent(f"{word} {callback_context.agent_name}")


guard = Guard("guard")
root_agent = Agent(
    name="desk",
    model=Scripted(replies=[say("Hello.")]),
    before_agent_callback=guard.method,
    before_model_callback=guard,
    after_model_callback=Guard.static,
    after_agent_callback=functools.partial(partial, word="Bye"),
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Hi"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
