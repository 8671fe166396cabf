"""A node that raises: what is stored, and what the next message does."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


def first(node_input: str):
    return Event(message="first", output=node_input)


def second(node_input: str):
    if node_input == "bad":
        raise RuntimeError("no")
    return Event(message=f"second {node_input}")


root_agent = Workflow(name="fails", edges=[("START", first, second)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("bad", "good"):
        try:
            async for _ in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent(text)
            ):
                pass
        except RuntimeError as error:
            show(raised=str(error))
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
