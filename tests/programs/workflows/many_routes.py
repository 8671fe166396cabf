"""A node that gives several routes at once, by numbers and booleans, too."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def choose(node_input: str):
    if node_input == "both":
        return Event(output=node_input, route=["left", "right"])
    if node_input == "number":
        return Event(output=node_input, route=1)
    return Event(output=node_input, route=True)


def left(node_input: str):
    return Event(message=f"left {node_input}")


def right(node_input: str):
    return Event(message=f"right {node_input}")


def one(node_input: str):
    return Event(message="one")


def true(node_input: str):
    return Event(message="true")


root_agent = Workflow(
    name="routes", edges=[("START", choose), (choose, {"left": left, "right": right, 1: one})]
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["both", "number", "other"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
