"""A sequence behind AgentTool: its last answer is the tool's result."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
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


steps = SequentialAgent(
    name="steps",
    description="Does the steps.",
    sub_agents=[
        LlmAgent(name="one", model=Scripted(replies=[say("first")]), output_key="one"),
        LlmAgent(name="two", model=Scripted(replies=[say("second")])),
    ],
)
root_agent = LlmAgent(
    name="desk",
    model=Scripted(replies=[call("steps", request="go"), say("Done.")]),
    tools=[AgentTool(agent=steps)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Go"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
