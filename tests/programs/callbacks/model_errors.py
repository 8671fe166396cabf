"""A model that fails: a callback answers for it, then nothing does."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event


class Down(BaseLlm):
    model: str = "down"

    async def generate_content_async(self, llm_request, stream=False):
        raise ConnectionError(llm_request.contents[-1].parts[-1].text)
        yield


def on_error(callback_context, llm_request, error):
    if "help" in str(error):
        return LlmResponse(content=types.ModelContent("The model is down."))
    return None


root_agent = Agent(name="desk", model=Down(), on_model_error_callback=on_error)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("help", "fail"):
        try:
            async for event in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent(text)
            ):
                show_event(event)
        except ConnectionError as error:
            show(raised=str(error))


asyncio.run(main())
