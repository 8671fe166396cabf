"""Nodes that stream messages, async generators, a node without output in the middle."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


async def steps(node_input: str):
    for number in range(2):
        yield Event(message=f"step {number}")
        await asyncio.sleep(0)
    yield Event(message="part", partial=True)
    yield {"steps": 2}


def silent(node_input: dict):
    print("silent got", node_input)


def after(node_input=None):
    return Event(message=f"after {node_input}")


root_agent = Workflow(name="talks", edges=[("START", steps, silent, after)])


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
