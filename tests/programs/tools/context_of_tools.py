"""What a ToolContext offers a tool: search of memory, credentials, artifacts, its actions."""

import asyncio

from google.adk.agents import (
    Agent,
)
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


async def look(word: str, tool_context: ToolContext) -> dict:
    """Looks."""
    found = await tool_context.search_memory(word)
    version = await tool_context.save_artifact("notes.txt", types.Part(text=word))
    return {
        "found": [one.content.parts[0].text for one in found.memories],
        "version": version,
        "delta": tool_context.actions.artifact_delta,
        "agent": tool_context.agent_name,
        "session": tool_context.session.id,
        "user": tool_context.user_id,
        "confirmed": tool_context.tool_confirmation,
        "call": tool_context.function_call_id.startswith("adk-"),
        "events": len(tool_context.session.events),
    }


async def main():
    agent = Agent(
        name="desk",
        model=Scripted(
            replies=[say("Noted."), call("look", word="blue"), call("look", word="red"), say("Ok.")]
        ),
        tools=[look],
    )
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    for id, text in (("one", "Blue is nice"), ("two", "Look")):
        await service.create_session(app_name="desk", user_id="u", session_id=id)
        async for _ in runner.run_async(
            user_id="u", session_id=id, new_message=types.UserContent(text)
        ):
            pass
        session = await service.get_session(app_name="desk", user_id="u", session_id=id)
        await runner.memory_service.add_session_to_memory(session)
    show_session(session)


asyncio.run(main())
