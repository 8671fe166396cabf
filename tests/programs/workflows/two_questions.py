"""Two branches that each ask the user; answered one after the other, then joined."""

import asyncio
import json

from google.adk import Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.workflow import JoinNode
from google.genai import types
from showing import show_session


def ask_name(node_input: str):
    yield RequestInput(message="Name?", interrupt_id="name")


def ask_age(node_input: str):
    yield RequestInput(message="Age?", interrupt_id="age")


def tell(node_input: dict):
    return Event(message=json.dumps(node_input, sort_keys=True))


root_agent = Workflow(
    name="form", edges=[("START", (ask_name, ask_age), JoinNode(name="both"), tell)]
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    message = types.UserContent("Form")
    for id, value in (("name", "Ann"), ("age", 7), (None, None)):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
        answer = types.FunctionResponse(id=id, name="adk_request_input", response={"result": value})
        message = types.Content(role="user", parts=[types.Part(function_response=answer)])
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
