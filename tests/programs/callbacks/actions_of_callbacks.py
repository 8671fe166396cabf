"""Callbacks that escalate, skip the summary and save artifacts through their context."""

import asyncio

from google.adk.agents import LlmAgent, LoopAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def ping() -> dict:
    """Pings."""
    return {"pong": 1}


async def after_tool(tool, args, tool_context, tool_response):
    tool_context.actions.skip_summarization = True
    await tool_context.save_artifact("ping.txt", types.Part(text="pong"))


def after_agent(callback_context):
    callback_context.actions.escalate = True
    callback_context.state["done"] = True


root_agent = LoopAgent(
    name="loop",
    max_iterations=3,
    sub_agents=[
        LlmAgent(
            name="desk",
            model=Scripted(replies=[call("ping"), call("ping"), call("ping")]),
            tools=[ping],
            after_tool_callback=after_tool,
            after_agent_callback=after_agent,
        )
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Ping"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
