"""Three tools of one step write different keys, one of them the same key twice."""

import asyncio

from google.adk.agents import Agent
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


async def note(key: str, tool_context: ToolContext) -> dict:
    """Notes a key."""
    tool_context.state[key] = "noted"
    tool_context.state.update({f"{key}_again": 1})
    return {"key": key, "id": tool_context.function_call_id is not None}


three = types.ModelContent(
    [types.Part.from_function_call(name="note", args={"key": key}) for key in ("a", "b", "c")]
)
root_agent = Agent(name="desk", model=Scripted(replies=[three, say("Noted.")]), tools=[note])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Note"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
