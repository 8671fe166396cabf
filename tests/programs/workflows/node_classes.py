"""Nodes of every kind: functions, decorated ones, FunctionNode, own classes, tools, agents."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import (
    LlmAgent,
)
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.workflow import BaseNode, FunctionNode, node
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


class Doubles(BaseNode):
    factor: int = 2

    async def _run_impl(self, *, ctx, node_input):
        yield Event(output=node_input * self.factor)


@node(name="renamed")
def decorated(node_input: str) -> str:
    return f"<{node_input}>"


def plain(node_input: str) -> str:
    return node_input.strip()


def searched(query: str) -> dict:
    """Searches."""
    return {"found": query}


def as_query(node_input: str) -> dict:
    return {"query": node_input}


agent = LlmAgent(name="agent", model=Scripted(replies=[say("From the agent.")]))
root_agent = Workflow(
    name="kinds",
    edges=[
        (
            "START",
            plain,
            decorated,
            Doubles(name="doubles", factor=3),
            FunctionNode(func=as_query, name="query"),
            FunctionTool(searched),
            agent,
        )
    ],
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in [" hi "]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
