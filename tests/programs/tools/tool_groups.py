"""Tools given in every form: functions, methods, lambdas in classes, partials, tools, toolsets."""

import asyncio
import functools

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


class Shop:
    def __init__(self, owner):
        self.owner = owner

    def sell(self, item: str) -> str:
        """Sells."""
        return f"{self.owner} sells {item}"

    @staticmethod
    def close() -> str:
        """Closes."""
        return "closed"

    @classmethod
    def kind(cls) -> str:
        """Tells its kind."""
        return cls.__name__


def greet(name: str, greeting: str = "Hello") -> str:
    """Greets."""
    return f"{greeting}, {name}"


@functools.wraps(greet)
def loud(*args, **kwargs):
    return greet(*args, **kwargs).upper()


shop = Shop("Ann")
root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[
            call("sell", item="pen"),
            call("close"),
            call("kind"),
            types.ModelContent([types.Part.from_function_call(name="greet", args={"name": "Bob"})]),
            say("Ok."),
        ]
    ),
    tools=[shop.sell, Shop.close, Shop.kind, FunctionTool(loud)],
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
