"""Templates in instructions: state, prefixes, artifacts, optional keys, what is left alone."""

import asyncio

from google.adk.agents import Agent, InvocationContext
from google.adk.runners import InMemoryRunner
from google.adk.utils.instructions_utils import inject_session_state
from google.genai import types
from showing import show


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk"), app_name="desk")
    session = await runner.session_service.create_session(
        app_name="desk",
        user_id="u",
        session_id="s",
        state={"name": "Ann", "user:city": "Rome", "app:v": 2, "n": None, "list": [1, "a"]},
    )
    await runner.artifact_service.save_artifact(
        app_name="desk",
        user_id="u",
        session_id="s",
        filename="note.txt",
        artifact=types.Part(text="from a file"),
    )
    context = InvocationContext(
        invocation_id="i",
        agent=runner.agent,
        session=session,
        session_service=runner.session_service,
        artifact_service=runner.artifact_service,
    )
    from google.adk.agents.readonly_context import ReadonlyContext

    for template in (
        "Hi {name} in {user:city}, v{app:v}",
        "{nope?}|{n}|{list}",
        "{ not a name } {a-b} {1x} {}",
        "{name }{ name}",
        "{nope}",
        "{artifact.nope.txt?}|",
        "{artifact.nope.txt}",
    ):
        try:
            show(text=await inject_session_state(template, ReadonlyContext(context)))
        except KeyError:
            show(template=template, missing=True)


asyncio.run(main())
