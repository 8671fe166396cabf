"""A workflow of plain functions: the root's import, outputs handed on, state written."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def shout(node_input: str) -> str:
    return node_input.upper()


async def count(ctx: Context, node_input: str) -> dict:
    ctx.state["length"] = len(node_input)
    return {"text": node_input, "length": len(node_input)}


def close(node_input: dict):
    yield Event(message=f"{node_input['text']} has {node_input['length']}")


root_agent = Workflow(name="chain", edges=[("START", shout, count, close)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["hello"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
