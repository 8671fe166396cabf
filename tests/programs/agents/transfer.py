"""A coordinator hands over to a specialist, who keeps the next turn and hands back."""

import asyncio

from google.adk.agents import LlmAgent
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


billing = LlmAgent(
    name="billing",
    description="Handles invoices.",
    model=Scripted(
        replies=[
            say("Your invoice is 12 euros."),
            say("It is due on Friday."),
            call("transfer_to_agent", agent_name="coordinator"),
        ]
    ),
)
root_agent = LlmAgent(
    name="coordinator",
    model=Scripted(
        replies=[call("transfer_to_agent", agent_name="billing"), say("The office opens at 9.")]
    ),
    sub_agents=[billing],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["My invoice?", "When is it due?", "When do you open?"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
