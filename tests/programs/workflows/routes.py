"""Routes: a classifier node chooses the next node, with a default."""

import asyncio

from google.adk import Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import DEFAULT_ROUTE
from google.genai import types
from showing import show_session


def classify(node_input: str):
    kind = "bug" if "broken" in node_input else "praise" if "great" in node_input else "other"
    return Event(output=node_input, route=kind)


def handle_bug(node_input: str):
    return Event(message=f"Bug filed: {node_input}")


def handle_praise(node_input: str):
    return Event(message="Thank you!")


def handle_other(node_input: str):
    return Event(message="Tell me more.")


root_agent = Workflow(
    name="router",
    edges=[
        ("START", classify),
        (classify, {"bug": handle_bug, "praise": handle_praise, DEFAULT_ROUTE: handle_other}),
    ],
)


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["It is broken", "It is great", "Hm"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
