"""Histories that a model gets: answered calls, a late answer, calls of another agent."""

import asyncio

from google.adk.agents import Agent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_event, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def part(name, id, response=None):
    if response is None:
        return types.Part(function_call=types.FunctionCall(id=id, name=name, args={}))
    return types.Part(function_response=types.FunctionResponse(id=id, name=name, response=response))


async def main():
    agent = Agent(name="desk", model=Scripted(replies=[say("Fine.")]))
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name="desk", user_id="u", session_id="s")
    for author, role, *parts in (
        ("user", "user", types.Part(text="Two things")),
        ("desk", "model", part("slow", "c1"), part("fast", "c2")),
        ("desk", "user", part("fast", "c2", {"r": 2})),
        ("user", "user", types.Part(text="And?")),
        ("desk", "user", part("slow", "c1", {"r": 1})),
        ("other", "model", part("look", "c3")),
        ("other", "user", part("look", "c3", {"seen": True})),
        ("other", "model", types.Part(text="thinking", thought=True), types.Part(text="Said.")),
    ):
        event = Event(author=author, content=types.Content(role=role, parts=list(parts)))
        await service.append_event(session, event)
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("So?")
    ):
        show_event(event)


asyncio.run(main())
