"""run_debug, as notebooks use it: texts, lists, quiet and verbose."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def ping(n: int) -> dict:
    """Pings."""
    return {"pong": n}


async def main():
    replies = [say("Hello."), say("One."), say("Two."), call("ping", n=1), say("Pinged.")]
    runner = InMemoryRunner(agent=Agent(name="desk", model=Scripted(replies=replies), tools=[ping]))
    events = await runner.run_debug("Hi")
    show(events=[event.content for event in events])
    events = await runner.run_debug(["a", "b"], quiet=True, session_id="other")
    show(count=len(events))
    await runner.run_debug("Ping", verbose=True)


asyncio.run(main())
