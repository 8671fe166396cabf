"""Runs in threads, each with a loop of its own, over one service."""

import asyncio
import threading

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
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


service = InMemorySessionService()
lines = []


def work(name):
    async def run():
        await service.create_session(app_name="desk", user_id=name, session_id="s")
        agent = Agent(name="desk", model=Scripted(replies=[say(f"For {name}.")]))
        runner = Runner(app_name="desk", agent=agent, session_service=service)
        async for event in runner.run_async(
            user_id=name, session_id="s", new_message=types.UserContent("Hi")
        ):
            lines.append(f"{name}: {event.content.parts[0].text}")  # noqa: PERF401

    asyncio.run(run())


threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(sorted(lines)))
for name in "abc":
    show_session(asyncio.run(service.get_session(app_name="desk", user_id=name, session_id="s")))
