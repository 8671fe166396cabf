"""A node that fails twice and is run again by its retry config."""

import asyncio

from google.adk import Context, Event, Workflow
from google.adk.runners import InMemoryRunner
from google.adk.workflow import RetryConfig, node
from google.genai import types
from showing import show_session

tries = []


@node(retry_config=RetryConfig(max_attempts=3, initial_delay=0.01, jitter=0.0))
def flaky(ctx: Context, node_input: str):
    tries.append(ctx.attempt_count)
    if len(tries) < 3:
        raise ConnectionError("down")
    return f"up after {len(tries)}"


def tell(node_input: str):
    return Event(message=f"{node_input} {tries}")


root_agent = Workflow(name="retries", edges=[("START", flaky, tell)])


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
