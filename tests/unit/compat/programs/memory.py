"""Memory: a first session is remembered, a second one searches it."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.memory import InMemoryMemoryService
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


async def recall(query: str, tool_context: ToolContext) -> dict:
    """Searches what was said before."""
    found = await tool_context.search_memory(query)
    return {"memories": [f"{m.author}: {m.content.parts[0].text}" for m in found.memories]}


async def main():
    sessions, memory = InMemorySessionService(), InMemoryMemoryService()
    info = LlmAgent(name="capture", model=Scripted(replies=[say("Noted: Project Alpha.")]))
    runner = Runner(agent=info, app_name="mem", session_service=sessions, memory_service=memory)
    await sessions.create_session(app_name="mem", user_id="u", session_id="first")
    async for event in runner.run_async(
        user_id="u",
        session_id="first",
        new_message=types.UserContent("My favorite project is Project Alpha."),
    ):
        show(event)
    done = await sessions.get_session(app_name="mem", user_id="u", session_id="first")
    await memory.add_session_to_memory(done)

    asking = LlmAgent(
        name="recall_agent",
        model=Scripted(replies=[call("recall", query="favorite project"), say("Alpha.")]),
        tools=[recall],
    )
    runner = Runner(agent=asking, app_name="mem", session_service=sessions, memory_service=memory)
    await sessions.create_session(app_name="mem", user_id="u", session_id="second")
    async for event in runner.run_async(
        user_id="u", session_id="second", new_message=types.UserContent("Which project?")
    ):
        show(event)
    nobody = await memory.search_memory(app_name="mem", user_id="other", query="project")
    print(nobody.memories)


asyncio.run(main())
