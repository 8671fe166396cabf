"""Memory: sessions are added, words are searched, one user does not see another's."""

import asyncio

from google.adk.agents import Agent
from google.adk.memory import InMemoryMemoryService
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
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


async def main():
    memory = InMemoryMemoryService()
    runner = Runner(
        app_name="a",
        agent=Agent(name="desk", model=Scripted(replies=[say("Noted: blue."), say("Ok.")])),
        session_service=InMemorySessionService(),
        memory_service=memory,
    )
    for user, text in (("u", "My colour is blue"), ("v", "My colour is red")):
        await runner.session_service.create_session(app_name="a", user_id=user, session_id="s")
        async for _ in runner.run_async(
            user_id=user, session_id="s", new_message=types.UserContent(text)
        ):
            pass
        await memory.add_session_to_memory(
            await runner.session_service.get_session(app_name="a", user_id=user, session_id="s")
        )
    for user, query in (("u", "colour?"), ("u", "red"), ("v", "RED"), ("w", "colour"), ("u", "")):
        found = await memory.search_memory(app_name="a", user_id=user, query=query)
        show(
            user=user,
            query=query,
            found=[[one.author, one.content.parts[0].text] for one in found.memories],
        )


asyncio.run(main())
