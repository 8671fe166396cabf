"""A live run of two turns: transcriptions, an interruption, audio in, texts out, stored events."""

import asyncio
from contextlib import asynccontextmanager

from google.adk.agents import Agent, LiveRequestQueue
from google.adk.models import BaseLlm, LlmResponse
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


class Connection(BaseLlmConnection):
    def __init__(self):
        self.replies = asyncio.Queue()

    async def send_history(self, history):
        pass

    async def send_content(self, content):
        text = content.parts[0].text
        for reply in (
            LlmResponse(content=types.ModelContent(f"{text}, "), partial=True),
            LlmResponse(content=types.ModelContent(f"{text}, yes")),
            LlmResponse(interrupted=True) if text == "b" else LlmResponse(),
            LlmResponse(turn_complete=True),
        ):
            self.replies.put_nowait(reply)

    async def send_realtime(self, blob):
        show(got=blob.mime_type)

    async def receive(self):
        while True:
            yield await self.replies.get()

    async def close(self):
        pass


class Live(BaseLlm):
    model: str = "live"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, llm_request):
        yield Connection()


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk", model=Live()), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    queue = LiveRequestQueue()
    queue.send_content(types.UserContent("a"))
    run = runner.run_live(user_id="u", session_id="s", live_request_queue=queue)
    async for event in run:
        if event.content or event.interrupted or event.turn_complete:
            show(
                author=event.author,
                said=event.content,
                flags=[event.partial, event.interrupted, event.turn_complete],
            )
        if event.turn_complete:
            if queue is None:
                break
            queue.send_content(types.UserContent("b"))
            queue = None
    await run.aclose()
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(stored=[[event.author, event.content] for event in session.events if event.content])


asyncio.run(main())
