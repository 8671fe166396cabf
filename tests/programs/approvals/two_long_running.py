"""Two long-running calls of one step, answered in two messages."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import LongRunningFunctionTool
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


def order(item: str) -> dict:
    """Orders."""
    return {"status": "ordered", "item": item}


two = types.ModelContent(
    [types.Part.from_function_call(name="order", args={"item": item}) for item in ("a", "b")]
)
root_agent = Agent(
    name="desk",
    model=Scripted(replies=[two, say("Both ordered."), say("a is here."), say("b is here.")]),
    tools=[LongRunningFunctionTool(order)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    calls = []
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Order a and b")
    ):
        calls += event.get_function_calls()
    for one in calls:
        answer = types.FunctionResponse(id=one.id, name="order", response={"arrived": True})
        async for _ in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        ):
            pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
