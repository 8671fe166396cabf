"""Nodes with schemas for input and output: what fits is converted, what does not fit raises."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import FunctionNode
from google.genai import types
from pydantic import BaseModel
from showing import show, show_event


class Order(BaseModel):
    item: str
    count: int = 1


def parse(node_input: str) -> Order:
    if node_input == "bad":
        return {"count": "many"}
    return {"item": node_input}


def fill(node_input: Order):
    return Event(message=f"{type(node_input).__name__} {node_input.item} {node_input.count}")


root_agent = Workflow(name="orders", edges=[("START", FunctionNode(func=parse), fill)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("pen", "bad"):
        try:
            async for event in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent(text)
            ):
                show_event(event)
        except ValueError as error:
            show(refused=isinstance(error, ValueError))


asyncio.run(main())
