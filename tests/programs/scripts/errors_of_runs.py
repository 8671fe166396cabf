"""Errors of all sorts in a run, and what a script can do next in the same session."""

import asyncio

from google.adk.agents import (
    Agent,
)
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


class Moody(BaseLlm):
    model: str = "moody"

    async def generate_content_async(self, llm_request, stream=False):
        text = llm_request.contents[-1].parts[-1].text
        if text == "raise":
            raise ValueError("no")
        if text == "late":
            yield LlmResponse(content=types.ModelContent("So"), partial=True)
            raise OSError("cut")
        yield LlmResponse(content=types.ModelContent(f"{len(llm_request.contents)} contents"))


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk", model=Moody()), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("one", "raise", "two", "late", "three"):
        try:
            async for event in runner.run_async(
                user_id="u",
                session_id="s",
                new_message=types.UserContent(text),
                run_config=RunConfig(streaming_mode=StreamingMode.SSE),
            ):
                if event.content:
                    show(said=event.content.parts[0].text, partial=event.partial)
        except (ValueError, OSError) as error:
            show(raised=type(error).__name__, said=str(error))
    try:
        async with asyncio.timeout(0.05):
            async for _ in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent("fine")
            ):
                await asyncio.sleep(1)
    except TimeoutError:
        print("timed out")
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(authors=[event.author for event in session.events])


asyncio.run(main())
