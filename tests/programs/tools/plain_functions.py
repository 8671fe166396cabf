"""Functions as tools: several calls in one step, results of all kinds, an unused default."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def weather(city: str, unit: str = "celsius") -> dict:
    """Returns the weather."""
    return {"city": city, "unit": unit}


async def clock(city: str) -> str:
    """Returns the time."""
    return f"Noon in {city}"


def nothing() -> None:
    """Returns nothing."""


def many(count: int) -> list[int]:
    """Counts."""
    return list(range(count))


both = types.ModelContent(
    [
        types.Part(text="Looking."),
        types.Part.from_function_call(name="weather", args={"city": "Rome"}),
        types.Part.from_function_call(name="clock", args={"city": "Rome"}),
    ]
)
root_agent = Agent(
    name="desk",
    model=Scripted(replies=[both, call("nothing"), call("many", count=2), say("Done.")]),
    tools=[weather, clock, nothing, many],
)


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
