"""Output keys with prefixes, of thoughts, of empty texts, and of an agent that only calls tools."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
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


def ping() -> str:
    """Pings."""
    return "pong"


thought = types.ModelContent([types.Part(text="hm", thought=True), types.Part(text="Said.")])
two = types.ModelContent([types.Part(text="a"), types.Part(text="b")])
root_agent = SequentialAgent(
    name="line",
    sub_agents=[
        LlmAgent(name="a", model=Scripted(replies=[thought]), output_key="thought"),
        LlmAgent(name="b", model=Scripted(replies=[two]), output_key="user:two"),
        LlmAgent(
            name="c",
            model=Scripted(replies=[call("ping"), say("after")]),
            tools=[ping],
            output_key="temp:c",
        ),
        LlmAgent(name="d", model=Scripted(replies=[say("{a} stays")]), output_key="d"),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
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
