"""Agent callbacks: one skips the agent, one adds to its answer, both write state."""

import asyncio

from google.adk.agents import Agent
from google.adk.agents.callback_context import CallbackContext
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


def before(callback_context: CallbackContext):
    callback_context.state["turns"] = callback_context.state.get("turns", 0) + 1
    if callback_context.state["turns"] == 2:
        return types.ModelContent("Skipped.")
    return None


async def after(callback_context: CallbackContext):
    if callback_context.state["turns"] == 3:
        return types.ModelContent("And more.")
    return None


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[say("One."), say("Three.")]),
    before_agent_callback=before,
    after_agent_callback=after,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["1", "2", "3"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
