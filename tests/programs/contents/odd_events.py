"""A custom agent that yields odd events: no author, own ids, only state, none at all, dicts."""

import asyncio

from google.adk.agents import BaseAgent
from google.adk.events import Event, EventActions
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Odd(BaseAgent):
    async def _run_async_impl(self, ctx):
        yield Event(author="somebody", content=types.ModelContent("from another"))
        yield Event(author=self.name, invocation_id="mine", content=types.ModelContent("own run"))
        yield Event(author=self.name, id="own-id", actions=EventActions(state_delta={"a": 1}))
        yield Event(author=self.name, content=types.ModelContent("p"), partial=True)
        yield Event(author=self.name, error_code="E", error_message="bad")
        yield Event(
            author=self.name,
            branch="own.branch",
            content=types.Content(parts=[types.Part(text="no role")]),
            custom_metadata={"k": [1, {"x": None}]},
        )
        yield Event(author="user", content=types.UserContent("as the user"))


root_agent = Odd(name="odd")


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
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
