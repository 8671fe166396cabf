"""A question inside of a nested workflow; the outer graph goes on after the answer."""

import asyncio

from google.adk import Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def ask(node_input: str):
    yield RequestInput(message=f"{node_input}: sure?", interrupt_id="sure")


def note(node_input: str) -> str:
    return f"answer {node_input}"


def tell(node_input: str):
    return Event(message=f"Outer got {node_input}")


inner = Workflow(name="inner", edges=[("START", ask, note)])
root_agent = Workflow(name="outer", edges=[("START", inner, tell)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    answer = types.FunctionResponse(id="sure", name="adk_request_input", response={"result": "yes"})
    for message in (
        types.UserContent("Delete"),
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
