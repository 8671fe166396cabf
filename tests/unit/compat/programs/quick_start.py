"""The quick start: an agent with two plain functions as tools, asked twice in one session."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def get_weather(city: str) -> dict:
    """Returns the current weather report of a city.

    Args:
        city (str): The name of the city.
    """
    if city.lower() == "new york":
        return {"status": "success", "report": "Sunny, 25 degrees."}
    return {"status": "error", "error_message": f"No weather for '{city}'."}


def get_current_time(city: str) -> str:
    """Returns the current time in a city."""
    return f"It is noon in {city}"


root_agent = Agent(
    name="weather_time_agent",
    model=Scripted(
        replies=[
            call("get_weather", city="New York"),
            say("Sunny."),
            types.Content(
                role="model",
                parts=[
                    types.Part.from_text(text="Both."),
                    types.Part.from_function_call(name="get_weather", args={"city": "Paris"}),
                    types.Part.from_function_call(name="get_current_time", args={"city": "Paris"}),
                ],
            ),
            say("No weather, but it is noon."),
        ]
    ),
    description="Answers questions about the time and weather in a city.",
    instruction="You are a helpful agent.",
    tools=[get_weather, get_current_time],
)

APP_NAME, USER_ID, SESSION_ID = "weather_app", "user_1", "session_001"


async def call_agent_async(query, runner):
    content = types.Content(role="user", parts=[types.Part(text=query)])
    final = "no answer"
    async for event in runner.run_async(
        user_id=USER_ID, session_id=SESSION_ID, new_message=content
    ):
        show(event)
        if event.is_final_response():
            final = event.content.parts[0].text
    print(f"<<< {final}")


async def main():
    service = InMemorySessionService()
    await service.create_session(app_name=APP_NAME, user_id=USER_ID, session_id=SESSION_ID)
    runner = Runner(agent=root_agent, app_name=APP_NAME, session_service=service)
    await call_agent_async("How is New York?", runner)
    await call_agent_async("And Paris, and its time?", runner)
    session = await service.get_session(app_name=APP_NAME, user_id=USER_ID, session_id=SESSION_ID)
    print(len(session.events), [event.author for event in session.events])


if __name__ == "__main__":
    asyncio.run(main())
