"""Nodes that yield events with a message of parts, a text, a content, an output."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def parts(node_input: str):
    yield Event(message=[types.Part(text="one"), types.Part(text="two")])
    yield Event(message=types.Part(text="three"))
    yield Event(message="four")
    yield Event(message=types.ModelContent("five"), output={"done": True})


def last(node_input: dict):
    return f"got {node_input}"


root_agent = Workflow(name="talk", edges=[("START", parts, last)])


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
