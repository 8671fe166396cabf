"""RunConfig.max_llm_calls ends a run that does not stop by itself."""

import asyncio

from google.adk.agents import Agent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event


class Endless(BaseLlm):
    model: str = "endless"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(
            content=types.ModelContent([types.Part.from_function_call(name="again", args={})])
        )


def again() -> str:
    """Goes on."""
    return "more"


async def main():
    runner = InMemoryRunner(
        agent=Agent(name="desk", model=Endless(), tools=[again]), app_name="desk"
    )
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    try:
        async for _ in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=types.UserContent("Go"),
            run_config=RunConfig(max_llm_calls=2, custom_metadata={"tag": "t"}),
        ):
            pass
    except LlmCallsLimitExceededError:
        print("limit")
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    for event in session.events:
        if not event.error_code:
            show_event(event)
    for value in (0, -1):
        show(limit=RunConfig(max_llm_calls=value).max_llm_calls)


asyncio.run(main())
