"""A tool that asks for a confirmation with a payload by its context, in a resumable app."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
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


def time_off(days: int, tool_context: ToolContext) -> dict:
    """Asks for days off."""
    given = tool_context.tool_confirmation
    if given is None:
        tool_context.request_confirmation(hint="How many days?", payload={"days": 0})
        return {"status": "waiting"}
    return {"days": given.payload["days"], "ok": given.confirmed}


app = App(
    name="desk",
    root_agent=Agent(
        name="desk",
        model=Scripted(replies=[call("time_off", days=9), say("You have 3 days.")]),
        tools=[time_off],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("9 days")
    ):
        for one in event.get_function_calls():
            asked, run = one, event.invocation_id
    response = {"confirmed": True, "payload": {"days": 3}}
    answer = types.FunctionResponse(id=asked.id, name="adk_request_confirmation", response=response)
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        invocation_id=run,
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
