"""A first look with InMemoryRunner.run_debug."""

import asyncio

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


async def main():
    agent = LlmAgent(name="greeter", model=Scripted(replies=[say("Hi."), say("Bye.")]))
    runner = InMemoryRunner(agent=agent)
    events = await runner.run_debug(["Hello", "Good bye"], quiet=True)
    for event in events:
        show(event)
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id="debug_user_id", session_id="debug_session_id"
    )
    print(runner.app_name, len(session.events))


asyncio.run(main())
