"""An agent in a graph whose tool needs a confirmation; the graph goes on after the yes."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
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


def pay(amount: int) -> dict:
    """Pays."""
    return {"paid": amount}


clerk = LlmAgent(
    name="clerk",
    model=Scripted(replies=[call("pay", amount=5), say("Paid five.")]),
    tools=[FunctionTool(pay, require_confirmation=True)],
    mode="single_turn",
)


def tell(node_input):
    return Event(message=f"Clerk: {node_input}")


async def main():
    runner = InMemoryRunner(
        node=Workflow(name="shop", edges=[("START", clerk, tell)]), app_name="desk"
    )
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Pay")
    ):
        for one in event.get_function_calls():
            asked = one
    answer = types.FunctionResponse(
        id=asked.id, name="adk_request_confirmation", response={"confirmed": True}
    )
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
