"""Two branches of functions that a join node brings together."""

import asyncio
import json

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import JoinNode
from google.genai import types
from showing import show_session


def start(node_input: str) -> str:
    return node_input


async def first(node_input: str) -> str:
    return f"first of {node_input}"


async def second(node_input: str) -> str:
    await asyncio.sleep(0.02)
    return f"second of {node_input}"


def show_both(node_input: dict):
    return Event(message=json.dumps(node_input, sort_keys=True))


both = JoinNode(name="both")
root_agent = Workflow(
    name="fan", edges=[("START", start, (first, second), both), (both, show_both)]
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["work"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
