"""Server-sent streaming: partial events, then the whole; also with a tool in between."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show


class Typing(BaseLlm):
    turns: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        self.turns += 1
        print("    stream:", stream)
        if self.turns == 1:
            part = types.Part.from_function_call(name="now", args={})
            yield LlmResponse(content=types.Content(role="model", parts=[part]))
            return
        words = ["It ", "is ", "noon."]
        if stream:
            for word in words:
                part = types.Part(text=word)
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        part = types.Part(text="".join(words))
        yield LlmResponse(content=types.Content(role="model", parts=[part]), turn_complete=True)


def now() -> str:
    """Tells the time."""
    return "12:00"


async def main():
    agent = LlmAgent(name="clock", model=Typing(model="typing"), tools=[now], output_key="said")
    runner = InMemoryRunner(agent=agent, app_name="stream")
    session = await runner.session_service.create_session(app_name="stream", user_id="u")
    for mode in (StreamingMode.SSE, StreamingMode.NONE):
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=types.UserContent("What time is it?"),
            run_config=RunConfig(streaming_mode=mode),
        ):
            show(event)
    stored = await runner.session_service.get_session(
        app_name="stream", user_id="u", session_id=session.id
    )
    print(len(stored.events), stored.state)


asyncio.run(main())
