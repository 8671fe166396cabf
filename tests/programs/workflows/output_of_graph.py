"""A Workflow with an output schema: the graph's output is checked and its defaults filled in."""

import asyncio
import json

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
from showing import show_session


class Answer(BaseModel):
    text: str
    score: float = 0.5


def make(node_input: str) -> dict:
    return {"text": node_input}


def tell(node_input: dict):
    return Event(message=json.dumps(node_input, sort_keys=True))


inner = Workflow(name="inner", edges=[("START", make)], output_schema=Answer)
root_agent = Workflow(name="outer", edges=[("START", inner, tell)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["hi"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
