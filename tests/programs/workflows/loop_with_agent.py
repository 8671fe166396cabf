"""A graph that loops over an agent until a judge of functions is content."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import LlmAgent
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


writer = LlmAgent(
    name="writer",
    model=Scripted(replies=[say("Short."), say("A longer text.")]),
    instruction="Write.",
    output_key="text",
)


def judge(node_input: str):
    return Event(output=node_input, route="good" if len(node_input) > 8 else "bad")


def publish(node_input: str):
    return Event(message=f"Published: {node_input}")


root_agent = Workflow(
    name="press", edges=[("START", writer, judge), (judge, {"bad": writer, "good": publish})]
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["A text, please"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
