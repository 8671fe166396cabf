"""A node asks the user, who answers by a function response; the graph goes on from there."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def ask(node_input: str):
    yield RequestInput(message="How many days?", interrupt_id="days")


def book(ctx: Context, node_input: int):
    return Event(message=f"Booked {node_input} days.")


root_agent = Workflow(name="travel", edges=[("START", ask, book)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    asked = None
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Book")
    ):
        for one in event.get_function_calls():
            asked = one
    answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"result": "3"})
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
