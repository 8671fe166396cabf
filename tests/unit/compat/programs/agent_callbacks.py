"""before_agent_callback and after_agent_callback: skip an agent, add to its words, keep state."""

import asyncio
from typing import Optional

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


def check_if_agent_should_run(callback_context: CallbackContext) -> Optional[types.Content]:
    state = callback_context.state.to_dict()
    print("before", callback_context.agent_name, sorted(state))
    callback_context.state["visits"] = state.get("visits", 0) + 1
    if state.get("skip"):
        return types.Content(parts=[types.Part(text="Skipped.")], role="model")
    return None


async def add_note(callback_context: CallbackContext) -> Optional[types.Content]:
    if callback_context.state.get("add_note"):
        return types.Content(role="model", parts=[types.Part(text="And a note.")])
    return None


agent = LlmAgent(
    name="careful",
    model=Scripted(replies=[say("First."), say("Second.")]),
    before_agent_callback=check_if_agent_should_run,
    after_agent_callback=[add_note],
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="hooks")
    for number, state in enumerate([{}, {"skip": True}, {"add_note": True}]):
        session = await runner.session_service.create_session(
            app_name="hooks", user_id="u", session_id=f"s{number}", state=state
        )
        message = types.UserContent(parts=[types.Part(text="Go")])
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=message
        ):
            show(event)


asyncio.run(main())
