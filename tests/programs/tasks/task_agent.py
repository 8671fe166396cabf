"""A sub-agent of mode task: it asks back, then finishes its task with a result."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


class Order(BaseModel):
    item: str
    count: int


collector = LlmAgent(
    name="collector",
    mode="task",
    description="Collects an order.",
    output_schema=Order,
    model=Scripted(replies=[say("How many pens?"), call("finish_task", item="pen", count=3)]),
)
root_agent = LlmAgent(
    name="shop",
    model=Scripted(replies=[call("collector", request="pens"), say("Three pens are ordered.")]),
    sub_agents=[collector],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Pens, please", "Three"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
