"""A team: the root hands over to a greeter and a booker, who hand over to each other and back."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


def go_to(name):
    return call("transfer_to_agent", agent_name=name)


def book(what: str) -> dict:
    """Books something."""
    return {"booked": what}


greeter = Agent(
    name="greeter",
    description="Greets.",
    model=Scripted(replies=[say("Hello!"), go_to("booker")]),
)
booker = Agent(
    name="booker",
    description="Books.",
    model=Scripted(replies=[call("book", what="a room"), say("Booked."), go_to("root")]),
    tools=[book],
)
root = Agent(
    name="root",
    model=Scripted(replies=[go_to("greeter"), say("Anything else?"), say("Bye.")]),
    instruction="Send the user on.",
    sub_agents=[greeter, booker],
)


async def main():
    runner = InMemoryRunner(agent=root, app_name="team")
    session = await runner.session_service.create_session(app_name="team", user_id="u")
    for text in ["Hi", "Book a room", "Thanks", "Bye"]:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)


asyncio.run(main())
