"""A node of one's own class that yields a content, and bytes handed to the next node."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import BaseNode
from google.genai import types
from showing import show_session


class Says(BaseNode):
    async def _run_impl(self, *, ctx, node_input):
        yield types.ModelContent("hello")


def kind(node_input):
    return Event(message=type(node_input).__name__)


root_agent = Workflow(name="kinds", edges=[("START", Says(name="says"), kind)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
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
