"""A workflow in a resumable App: it pauses for input and goes on by invocation id."""

import asyncio

from google.adk import Event, Workflow
from google.adk.apps import App, ResumabilityConfig
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


def first(node_input: str):
    print("first runs")
    return Event(output=node_input, message="First.")


def ask(node_input: str):
    print("ask runs")
    yield RequestInput(message="Go on?", interrupt_id="go")


def last(node_input):
    return Event(message=f"Last: {node_input}")


app = App(
    name="desk",
    root_agent=Workflow(name="steps", edges=[("START", first, ask, last)]),
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Start")
    ):
        run = event.invocation_id
    answer = types.FunctionResponse(id="go", name="adk_request_input", response={"result": "yes"})
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        invocation_id=run,
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
