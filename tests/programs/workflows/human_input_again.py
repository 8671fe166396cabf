"""A node that runs again with the answer, as rerun_on_resume and ctx.resume_inputs have it."""

import asyncio
import json

from google.adk import Context, Event, Workflow
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.workflow import node
from google.genai import types
from showing import show_session


@node(rerun_on_resume=True)
async def approve(ctx: Context, node_input: str):
    answer = ctx.resume_inputs.get("leave")
    if answer is None:
        yield RequestInput(message="Approve?", interrupt_id="leave", payload={"what": node_input})
        return
    yield Event(output={"approved": answer, "what": node_input})


def tell(node_input: dict):
    return Event(message=json.dumps(node_input, sort_keys=True))


root_agent = Workflow(name="leave", edges=[("START", approve, tell)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Ann, 3 days")
    ):
        pass
    answer = types.FunctionResponse(
        id="leave", name="adk_request_input", response={"decision": "yes"}
    )
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
