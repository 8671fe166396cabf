"""A tool that needs a person's yes: asked, refused once, approved once; by flag and by the tool."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.apps.app import ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def reimburse(amount: int) -> dict:
    """Reimburses the amount."""
    return {"status": "ok", "amount": amount}


def over_limit(amount: int) -> bool:
    return amount > 100


def request_time_off(days: int, tool_context: ToolContext) -> dict:
    """Requests days off."""
    confirmation = tool_context.tool_confirmation
    if not confirmation:
        tool_context.request_confirmation(hint="Approve days?", payload={"approved_days": 0})
        return {"status": "waiting"}
    return {"status": "ok", "approved_days": confirmation.payload["approved_days"]}


async def turn(runner, session, message):
    asked = None
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        show(event)
        for found in event.get_function_calls():
            if found.name == "adk_request_confirmation":
                asked = found
    return asked


def answer(asked, **response):
    return types.Content(
        role="user",
        parts=[
            types.Part(
                function_response=types.FunctionResponse(
                    id=asked.id, name="adk_request_confirmation", response=response
                )
            )
        ],
    )


async def main():
    agent = Agent(
        name="time_off",
        model=Scripted(
            replies=[
                call("reimburse", amount=5),
                say("Paid 5."),
                call("reimburse", amount=500),
                say("Refused."),
                call("reimburse", amount=600),
                say("Paid 600."),
                call("request_time_off", days=9),
                say("I asked."),
                say("You have 3 days."),
            ]
        ),
        tools=[FunctionTool(reimburse, require_confirmation=over_limit), request_time_off],
    )
    app = App(
        name="people",
        root_agent=agent,
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="people", user_id="u")
    await turn(runner, session, types.UserContent("Reimburse 5"))
    for confirmed in (False, True):
        asked = await turn(runner, session, types.UserContent("Reimburse much"))
        await turn(runner, session, answer(asked, confirmed=confirmed))
    asked = await turn(runner, session, types.UserContent("Nine days off"))
    await turn(runner, session, answer(asked, confirmed=True, payload={"approved_days": 3}))


asyncio.run(main())
