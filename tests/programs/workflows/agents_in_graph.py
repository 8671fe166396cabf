"""Agents with an output schema as nodes: the next function gets the parsed output."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import LlmAgent
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


class City(BaseModel):
    name: str
    people: int


find = LlmAgent(
    name="find",
    model=Scripted(replies=[say('{"name": "Rome", "people": 3}')]),
    instruction="Find a city.",
    output_schema=City,
    output_key="city",
)


def grow(node_input: City):
    return Event(output={"people": node_input.people + 1})


end = LlmAgent(name="end", model=Scripted(replies=[say("Four.")]), instruction="Say {city}")
root_agent = Workflow(name="cities", edges=[("START", find, grow, end)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["A city"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
