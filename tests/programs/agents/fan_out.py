"""A parallel fan-out inside of a sequence, gathered by a last agent."""

import asyncio

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


async def main():
    gather = ParallelAgent(
        name="gather",
        sub_agents=[
            LlmAgent(name=name, model=Scripted(replies=[say(f"About {name}.")]), output_key=name)
            for name in ("sun", "wind")
        ],
    )
    merge = LlmAgent(
        name="merge", model=Scripted(replies=[say("Both.")]), instruction="Merge {sun} {wind}"
    )
    root = SequentialAgent(name="research", sub_agents=[gather, merge])
    runner = InMemoryRunner(agent=root, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="u")
    seen = []
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Energy?")
    ):
        seen.append(event)  # noqa: PERF401
    for event in sorted(seen[:2], key=lambda one: one.author) + seen[2:]:
        show_event(event)
    session = await runner.session_service.get_session(
        app_name="desk", user_id="u", session_id=session.id
    )
    show(state=session.state)


asyncio.run(main())
