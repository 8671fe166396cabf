"""A custom BaseAgent that chooses between its sub-agents by the state."""

import asyncio

from google.adk.agents import BaseAgent, LlmAgent
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


class StoryFlow(BaseAgent):
    generator: LlmAgent
    checker: LlmAgent

    async def _run_async_impl(self, ctx):
        async for event in self.generator.run_async(ctx):
            yield event
        async for event in self.checker.run_async(ctx):
            yield event
        if ctx.session.state.get("tone") == "negative":
            async for event in self.generator.run_async(ctx):
                yield event


generator = LlmAgent(
    name="generator", model=Scripted(replies=[say("Rain."), say("Sun.")]), output_key="story"
)
checker = LlmAgent(name="checker", model=Scripted(replies=[say("negative")]), output_key="tone")
root_agent = StoryFlow(
    name="story", generator=generator, checker=checker, sub_agents=[generator, checker]
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Tell"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
