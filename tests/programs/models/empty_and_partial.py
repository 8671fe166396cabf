"""A model that answers nothing, and one that yields partial texts without streaming."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_event


class Empty(BaseLlm):
    model: str = "empty"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[]))


class Partial(BaseLlm):
    model: str = "partial"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.ModelContent("Wh"), partial=True)
        yield LlmResponse(content=types.ModelContent("Whole"))


async def main():
    for model in (Empty(), Partial()):
        runner = InMemoryRunner(agent=Agent(name="desk", model=model), app_name="desk")
        await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent("Hi")
        ):
            show_event(event)


asyncio.run(main())
