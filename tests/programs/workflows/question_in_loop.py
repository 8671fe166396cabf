"""A guessing game: a loop that asks the user until the guess is right."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def ask(ctx: Context):
    turn = ctx.state.get("turn", 0) + 1
    yield Event(state={"turn": turn})
    yield RequestInput(message=f"Guess {turn}?", interrupt_id=f"guess_{turn}")


def check(ctx: Context, node_input: str):
    if node_input == "blue":
        return Event(message="Right!", route="right")
    return Event(message="Wrong.", route="wrong")


def end(ctx: Context):
    return Event(message=f"After {ctx.state['turn']} turns.")


root_agent = Workflow(
    name="game", edges=[("START", ask, check), (check, {"wrong": ask, "right": end})]
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    message = types.UserContent("Play")
    for guess in ("red", "blue", None):
        asked = None
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            for one in event.get_function_calls():
                asked = one
        if asked is None:
            break
        answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"result": guess})
        message = types.Content(role="user", parts=[types.Part(function_response=answer)])
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
