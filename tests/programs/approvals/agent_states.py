"""A resumable loop: its stored positions, and what a resume of an ended run does."""

import asyncio

from google.adk.agents import LlmAgent, LoopAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


app = App(
    name="desk",
    root_agent=LoopAgent(
        name="loop",
        max_iterations=2,
        sub_agents=[
            LlmAgent(name="a", model=Scripted(replies=[say("a1"), say("a2")])),
            LlmAgent(name="b", model=Scripted(replies=[say("b1"), say("b2")])),
        ],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Go"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
