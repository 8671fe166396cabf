"""A sequential pipeline that hands on results by output_key and templates."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


root_agent = SequentialAgent(
    name="pipeline",
    sub_agents=[
        LlmAgent(name="writer", model=Scripted(replies=[say("def f(): 1")]), output_key="code"),
        LlmAgent(
            name="reviewer",
            model=Scripted(replies=[say("Return it.")]),
            instruction="Review {code}",
            output_key="review",
        ),
        LlmAgent(
            name="fixer",
            model=Scripted(replies=[say("def f(): return 1")]),
            instruction="Fix {code} by {review}",
            output_key="code",
        ),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Write f"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
