"""A join that waits for a slow and a fast branch, and a branch that a route leaves out."""

import asyncio
import json

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import JoinNode
from google.genai import types
from showing import show_session


def choose(node_input: str):
    return Event(output=node_input, route=["news", "mail"])


async def news(node_input: str) -> str:
    await asyncio.sleep(0.02)
    return "news"


def mail(node_input: str) -> str:
    return "mail"


def never(node_input: str) -> str:
    print("never runs")
    return "never"


both = JoinNode(name="both")


def tell(node_input: dict):
    return Event(message=json.dumps(node_input, sort_keys=True))


root_agent = Workflow(
    name="morning",
    edges=[
        ("START", choose),
        (choose, {"news": news, "mail": mail, "other": never}),
        ((news, mail), both),
        (both, tell),
    ],
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Go"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
