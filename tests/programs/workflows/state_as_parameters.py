"""State that one node sets is a parameter of the next."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def set_up(ctx: Context, node_input: str):
    return Event(state={"plan": node_input, "temp:x": 1}, output="ready")


def use(ctx: Context, plan: str, node_input: str):
    return Event(message=f"{node_input}: {plan} by {ctx.user_id}")


root_agent = Workflow(name="planner", edges=[("START", set_up, use)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["walk"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
