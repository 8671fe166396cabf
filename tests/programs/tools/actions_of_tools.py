"""Tools that write state, skip the summary, escalate and transfer through their context."""

import asyncio

from google.adk.agents import Agent, LlmAgent
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


def remember(text: str, tool_context: ToolContext) -> dict:
    """Remembers."""
    tool_context.state["notes"] = [*tool_context.state.get("notes", []), text]
    tool_context.state["temp:scratch"] = "gone"
    tool_context.state["user:last"] = text
    return {"kept": len(tool_context.state["notes"])}


def finish(tool_context: ToolContext) -> dict:
    """Finishes."""
    tool_context.actions.skip_summarization = True
    return {"report": "all"}


def hand_over(tool_context: ToolContext) -> str:
    """Hands over."""
    tool_context.actions.transfer_to_agent = "other"
    return "handed over"


other = LlmAgent(name="other", model=Scripted(replies=[say("I am the other.")]))
root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[
            call("remember", text="a"),
            call("remember", text="b"),
            call("finish"),
            call("hand_over"),
        ]
    ),
    tools=[remember, finish, hand_over],
    sub_agents=[other],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Remember", "Hand over"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
