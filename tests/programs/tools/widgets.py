"""Two tools of one step that each show a widget."""

import asyncio

from google.adk.agents import Agent
from google.adk.events.ui_widget import UiWidget
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


def chart(name: str, tool_context: ToolContext) -> str:
    """Shows a chart."""
    tool_context.render_ui_widget(UiWidget(id=name, provider="mcp", payload={"kind": "chart"}))
    return name


two = types.ModelContent(
    [types.Part.from_function_call(name="chart", args={"name": name}) for name in ("x", "y")]
)
root_agent = Agent(name="desk", model=Scripted(replies=[two, say("Shown.")]), tools=[chart])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Show"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
