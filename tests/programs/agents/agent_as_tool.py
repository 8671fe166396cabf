"""An agent behind AgentTool, with an input schema and state that comes back."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import BaseModel
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


class Question(BaseModel):
    topic: str
    words: int = 10


summarizer = LlmAgent(
    name="summarizer",
    description="Summarizes a topic.",
    input_schema=Question,
    model=Scripted(replies=[say("Short: cats.")]),
    output_key="summary",
)
root_agent = LlmAgent(
    name="desk",
    model=Scripted(replies=[call("summarizer", topic="cats", words=2), say("Done.")]),
    tools=[AgentTool(agent=summarizer)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Cats"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
