"""Three levels of agents; the lowest answers, and keeps the conversation."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


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


leaf = LlmAgent(name="leaf", model=Scripted(replies=[say("Here."), say("Still here.")]))
middle = LlmAgent(
    name="middle",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="leaf")]),
    sub_agents=[leaf],
)
root_agent = LlmAgent(
    name="top",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="middle")]),
    sub_agents=[middle],
)
show(
    root=leaf.root_agent.name,
    parent=leaf.parent_agent.name,
    found=root_agent.find_agent("leaf") is leaf,
    sub=root_agent.find_sub_agent("leaf") is leaf,
    itself=root_agent.find_agent("top") is root_agent,
    nobody=root_agent.find_agent("nobody"),
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Find", "Again"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
