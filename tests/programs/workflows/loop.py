"""A loop in a graph that a node leaves by a route that no edge takes."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def draft(ctx: Context) -> str:
    ctx.state["round"] = ctx.state.get("round", 0) + 1
    return f"draft {ctx.state['round']}"


def check(ctx: Context, node_input: str):
    done = ctx.state["round"] >= 3
    return Event(message=node_input, output=node_input, route="done" if done else "again")


root_agent = Workflow(name="writer", edges=[("START", draft, check), (check, {"again": draft})])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Write"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
