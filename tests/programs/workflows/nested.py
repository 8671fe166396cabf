"""A workflow inside of a workflow; the inner one's last output goes on."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def double(node_input: str) -> str:
    return node_input * 2


def bracket(node_input: str) -> str:
    return f"[{node_input}]"


def tell(node_input: str):
    return Event(message=node_input)


inner = Workflow(name="inner", edges=[("START", double, bracket)])
root_agent = Workflow(name="outer", edges=[("START", bracket, inner, tell)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["ab", "c"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
