"""A node that runs other nodes with ctx.run_node, in a loop and at once."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import node
from google.genai import types
from showing import show_session


@node
def square(node_input: int) -> int:
    return node_input * node_input


@node(rerun_on_resume=True)
async def plan(ctx: Context, node_input: str):
    one = await ctx.run_node(square, node_input=2)
    two = await ctx.run_node(square, node_input=one)
    yield Event(message=f"{one} then {two}", output=two)


root_agent = Workflow(name="dynamic", edges=[("START", plan)])


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
