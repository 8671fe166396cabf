"""SSE streaming: partial texts, then the whole; a tool call in between."""

import asyncio

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Streams(BaseLlm):
    model: str = "streams"

    async def generate_content_async(self, llm_request, stream=False):
        show(stream=stream)
        if len(llm_request.contents) == 1:
            yield LlmResponse(
                content=types.ModelContent([types.Part.from_function_call(name="ping", args={})])
            )
            return
        if stream:
            for piece in ("Hel", "lo"):
                yield LlmResponse(content=types.ModelContent(piece), partial=True)
        yield LlmResponse(content=types.ModelContent("Hello"))


def ping() -> str:
    """Pings."""
    return "pong"


root_agent = Agent(name="desk", model=Streams(), tools=[ping], output_key="said")


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.UserContent("Hi"),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    ):
        show(partial=event.partial, final=event.is_final_response(), content=event.content)
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
