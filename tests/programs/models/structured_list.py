"""Output schemas that are lists and dicts, and an input schema beside them."""

import asyncio

from google.adk.agents import Agent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


class Item(BaseModel):
    name: str


root_agent = SequentialAgent(
    name="all",
    sub_agents=[
        Agent(
            name="items",
            model=Scripted(replies=[say('[{"name": "a"}, {"name": "b"}]')]),
            output_schema=list[Item],
            output_key="items",
        ),
        Agent(
            name="names",
            model=Scripted(replies=[say('["a", "b"]')]),
            output_schema=list[str],
            output_key="names",
        ),
        Agent(
            name="counts",
            model=Scripted(replies=[say('{"a": 1}')]),
            output_schema=dict[str, int],
            output_key="counts",
        ),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Items"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
