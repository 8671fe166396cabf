"""A graph over several turns of one session: state stays, outputs do not."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def count(ctx: Context, node_input: str):
    turns = ctx.state.get("turns", 0) + 1
    ctx.state["turns"] = turns
    ctx.state["temp:seen"] = node_input
    return Event(output=turns, route="many" if turns > 1 else "one")


def one(ctx: Context, node_input: int):
    return Event(message=f"First time: {ctx.state['temp:seen']}")


def many(ctx: Context, node_input: int):
    said = [event.content.parts[0].text for event in ctx.session.events if event.author == "user"]
    return Event(message=f"{node_input} times: {said}")


root_agent = Workflow(name="counts", edges=[("START", count), (count, {"one": one, "many": many})])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["a", "b", "c"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
