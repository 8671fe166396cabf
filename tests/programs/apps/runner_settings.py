"""Ways to make a Runner: what is needed, what is refused, what it holds."""

import asyncio

from google.adk.agents import (
    Agent,
)
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.memory import InMemoryMemoryService
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from showing import show

agent = Agent(name="desk")
app = App(name="my_app", root_agent=agent)
service = InMemorySessionService()
for kind, fields in {
    "agent": {"app_name": "x", "agent": agent},
    "app": {"app": app},
    "app and name": {"app": app, "app_name": "other"},
    "no name": {"agent": agent},
    "nothing": {},
    "app and agent": {"app": app, "agent": agent},
    "plugins": {"app_name": "x", "agent": agent, "plugins": [BasePlugin(name="p")]},
    "app and plugins": {"app": app, "plugins": [BasePlugin(name="p")]},
}.items():
    try:
        runner = Runner(session_service=service, **fields)
        show(kind=kind, app_name=runner.app_name, plugins=len(runner.plugin_manager.plugins))
    except (ValueError, TypeError):
        print(kind, "is refused")
try:
    Runner(app=app)
except TypeError:
    print("no service is refused")
runner = InMemoryRunner(agent=agent)
show(
    name=runner.app_name,
    session=type(runner.session_service).__name__,
    artifacts=isinstance(runner.artifact_service, InMemoryArtifactService),
    memory=isinstance(runner.memory_service, InMemoryMemoryService),
    credentials=runner.credential_service is None,
)


async def main():
    runner = Runner(app=app, session_service=service)
    for fields in (
        {"session_id": "none", "new_message": types.UserContent("hi")},
        {"session_id": "none", "new_message": types.UserContent("hi"), "invocation_id": "i"},
    ):
        try:
            async for _ in runner.run_async(user_id="u", **fields):
                pass
        except ValueError as error:
            show(refused=sorted(fields), missing="not found" in str(error).lower())


asyncio.run(main())
