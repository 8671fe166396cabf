"""Workflow agents below an LlmAgent, hooks as lists, tools in parallel, and a typed tool."""

import asyncio
from enum import Enum

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from printing import show, show_request
from pydantic import BaseModel


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


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    item: str
    size: Size = Size.SMALL


async def place_order(order: Order, tags: list[str] | None = None) -> dict:
    """Places an order."""
    return {"item": order.item, "size": order.size.value, "tags": tags}


async def price(item: str) -> dict:
    """Tells a price."""
    return {"price": len(item)}


both = types.Content(
    role="model",
    parts=[
        types.Part.from_function_call(
            name="place_order", args={"order": {"item": "tea", "size": "large"}, "tags": ["hot"]}
        ),
        types.Part.from_function_call(name="price", args={"item": "tea"}),
    ],
)
shop = LlmAgent(
    name="shop",
    model=Scripted(replies=[both, say("Ordered.")]),
    tools=[place_order, FunctionTool(func=price)],
    before_model_callback=[lambda callback_context, llm_request: None],
)
line = SequentialAgent(
    name="line",
    description="Orders and packs.",
    sub_agents=[shop, LlmAgent(name="packer", model=Scripted(replies=[say("Packed.")]))],
)
root = LlmAgent(
    name="root",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="line"), say("Hello again.")]),
    sub_agents=[line],
)


def tree(agent: BaseAgent, depth=0):
    print("  " * depth + agent.name, type(agent).__name__)
    for child in agent.sub_agents:
        tree(child, depth + 1)


async def main():
    tree(root)
    print(root.find_agent("packer").root_agent is root, ParallelAgent(name="p").sub_agents)
    copied = shop.clone(update={"name": "shop_two"})
    print(copied.name, copied.parent_agent, len(copied.tools))
    runner = InMemoryRunner(agent=root, app_name="nested")
    session = await runner.session_service.create_session(app_name="nested", user_id="u")
    for text in ["Tea", "Hello"]:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)


asyncio.run(main())
