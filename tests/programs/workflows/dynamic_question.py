"""A dynamic node that runs a node which asks the user, and goes on with its answer."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.workflow import node
from google.genai import types
from showing import show_session


@node
def ask(node_input: str):
    yield RequestInput(message=node_input, interrupt_id="colour")


@node
def first() -> str:
    print("first runs")
    return "red or blue?"


@node(rerun_on_resume=True)
async def plan(ctx: Context, node_input: str):
    question = await ctx.run_node(first)
    colour = await ctx.run_node(ask, node_input=question)
    yield Event(message=f"You like {colour}.")


async def main():
    runner = InMemoryRunner(node=Workflow(name="dynamic", edges=[("START", plan)]), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    answer = types.FunctionResponse(
        id="colour", name="adk_request_input", response={"result": "blue"}
    )
    for message in (
        types.UserContent("Ask"),
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
