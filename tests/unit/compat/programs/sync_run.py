"""A script without async code: Runner.run, with sessions made by asyncio.run."""

import asyncio

from google.adk import Agent, Runner
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
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


def roll_die(sides: int) -> int:
    """Roll a die and return the result."""
    return sides // 2


agent = Agent(
    model=Scripted(replies=[call("roll_die", sides=6), say("You rolled a 3.")]),
    name="dice",
    tools=[roll_die],
)


def main():
    service = InMemorySessionService()
    session = asyncio.run(service.create_session(app_name="dice_app", user_id="u"))
    runner = Runner(app_name="dice_app", agent=agent, session_service=service)
    message = types.Content(role="user", parts=[types.Part.from_text(text="Roll a d6")])
    # The run has a thread of its own, whose printing would come anywhere between.
    events = list(runner.run(user_id="u", session_id=session.id, new_message=message))
    for event in events:
        show(event)


if __name__ == "__main__":
    main()
