"""A live run over a connection of one's own: text in, texts and a tool call out."""

import asyncio
from contextlib import asynccontextmanager

from google.adk.agents import Agent, LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


class Connection(BaseLlmConnection):
    def __init__(self):
        self.replies = asyncio.Queue()

    async def send_history(self, history):
        show(history=len(history))

    async def send_content(self, content):
        if content.parts[0].function_response:
            self.replies.put_nowait(LlmResponse(content=types.ModelContent("It is noon.")))
        else:
            part = types.Part.from_function_call(name="clock", args={})
            self.replies.put_nowait(LlmResponse(content=types.ModelContent([part])))

    async def send_realtime(self, blob):
        show(blob=blob.mime_type)

    async def receive(self):
        while True:
            reply = await self.replies.get()
            yield reply
            if reply.content.parts[0].text:
                yield LlmResponse(turn_complete=True)

    async def close(self):
        print("closed")


class Live(BaseLlm):
    model: str = "live"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, llm_request):
        yield Connection()


def clock() -> str:
    """Tells the time."""
    return "12:00"


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk", model=Live(), tools=[clock]), app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name="desk", user_id="u", session_id="s")
    queue = LiveRequestQueue()
    queue.send_content(types.UserContent("What time is it?"))
    async for event in runner.run_live(
        user_id="u", session_id=session.id, live_request_queue=queue, run_config=RunConfig()
    ):
        parts = event.content.parts if event.content else []
        show(author=event.author, parts=parts, complete=event.turn_complete)
        if event.turn_complete:
            queue.close()
            break


asyncio.run(main())
