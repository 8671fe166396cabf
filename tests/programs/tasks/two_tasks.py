"""A coordinator gives one task after the other, and talks in between."""

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


def helper(name):
    return LlmAgent(
        name=name,
        mode="task",
        description=f"Does {name}.",
        model=Scripted(replies=[call("finish_task", result=f"{name} is done")]),
    )


root_agent = LlmAgent(
    name="boss",
    model=Scripted(
        replies=[
            call("plan", request="a trip"),
            say("Planned."),
            call("book", request="the trip"),
            say("Booked."),
        ]
    ),
    sub_agents=[helper("plan"), helper("book")],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Plan", "Book"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
