"""A whole program of a user's, which the clean environments run."""

import asyncio

from ostinato import Agent, InMemoryRunner
from ostinato.testing import ScriptedModel, call


def get_weather(city: str) -> dict[str, str]:
    """Return the weather of a city."""
    return {"city": city, "sky": "sunny"}


async def main() -> None:
    """Ask the agent once and print its answer."""
    model = ScriptedModel([call("get_weather", city="Rome"), "It is sunny in Rome."])
    agent = Agent(name="weather", model=model, tools=[get_weather])
    runner = InMemoryRunner(agent=agent, app_name="weather")
    await runner.session_service.create_session(app_name="weather", user_id="ann", session_id="1")
    async for event in runner.run_async(user_id="ann", session_id="1", new_message="Rome?"):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)


asyncio.run(main())
