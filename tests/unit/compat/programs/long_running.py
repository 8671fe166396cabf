"""A long-running tool: a ticket is opened, the program later hands in how it ended."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import LongRunningFunctionTool
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


def ask_for_approval(purpose: str, amount: float) -> dict:
    """Asks for approval of a reimbursement."""
    return {"status": "pending", "approver": "Sean", "purpose": purpose, "ticket-id": "t-1"}


agent = LlmAgent(
    name="reimbursement",
    model=Scripted(
        replies=[
            call("ask_for_approval", purpose="meals", amount=120.5),
            say("Sean has to say."),
            say("Sean said yes."),
        ]
    ),
    tools=[LongRunningFunctionTool(func=ask_for_approval)],
)


def get_long_running_function_call(event):
    for part in event.content.parts if event.content else []:
        if part.function_call and part.function_call.id in (event.long_running_tool_ids or []):
            return part.function_call
    return None


async def main():
    runner = InMemoryRunner(agent=agent, app_name="money")
    session = await runner.session_service.create_session(app_name="money", user_id="u")
    waiting, response = None, None
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("120.5 for meals")
    ):
        show(event)
        waiting = waiting or get_long_running_function_call(event)
        for found in event.get_function_responses():
            if waiting and found.id == waiting.id:
                response = found
    updated = response.model_copy(deep=True)
    updated.response = {"status": "approved"}
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=types.Content(parts=[types.Part(function_response=updated)], role="user"),
    ):
        show(event)


asyncio.run(main())
