"""Arguments that a model gets wrong or in other types: ints for floats, models, enums, none."""

import asyncio
import enum

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
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


class Item(BaseModel):
    name: str
    price: float = 1.0


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


def pay(amount: float) -> str:
    """Pays."""
    return f"paid ${amount}"


def buy(item: Item, count: int = 1) -> dict:
    """Buys."""
    return {"bought": item.name, "price": item.price, "count": count, "type": type(item).__name__}


def wrap(items: list[Item], note: str | None = None) -> dict:
    """Wraps."""
    return {"types": [type(item).__name__ for item in items], "note": note}


root_agent = Agent(
    name="shop",
    model=Scripted(
        replies=[
            call("pay", amount=200),
            call("buy", item={"name": "pen"}, count="2"),
            call("wrap", items=[{"name": "pen"}, {"name": "ink", "price": 2}]),
            call("pay"),
            call("pay", amount=1.5, unknown=True),
            say("Done."),
        ]
    ),
    tools=[pay, buy, wrap],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Shop"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
