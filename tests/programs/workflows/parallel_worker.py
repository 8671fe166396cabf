"""A node as a parallel worker: it runs once per item of a list."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import node
from google.genai import types
from showing import show, show_event


def split(node_input: str) -> list[str]:
    return node_input.split()


@node(parallel_worker=True)
async def measure(node_input: str) -> int:
    return len(node_input)


def total(node_input: list):
    return Event(message=f"{node_input} = {sum(node_input)}")


root_agent = Workflow(name="workers", edges=[("START", split, measure, total)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("one three five")
    ):
        if event.content:
            show_event(event)
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(events=len(session.events), outputs=sorted(str(e.output) for e in session.events))


asyncio.run(main())
