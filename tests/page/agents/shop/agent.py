"""A resumable shop whose model calls what the message says as `NAME JSON`, after approval."""

import asyncio
import json
import os
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from ostinato import types
from ostinato.agents import Agent
from ostinato.apps import App, ResumabilityConfig
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool


class Item(BaseModel):
    """What is bought."""

    sku: str
    qty: int = Field(ge=1, le=99)


class Card(BaseModel):
    """Payment by card."""

    kind: Literal["card"]
    number: str


class Bank(BaseModel):
    """Payment from an account."""

    kind: Literal["bank"]
    iban: str


class Order(BaseModel):
    """An order."""

    day: date
    express: bool = False
    zip: str = Field(pattern=r"^\d{5}$")
    items: list[Item]
    pay: Card | Bank = Field(discriminator="kind")
    note: str | int | None = None
    extra: dict[str, Any] = {}


def place_order(order: Order) -> dict:
    """Place an order."""
    return {"placed": order.model_dump(mode="json")}


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


class Calls(BaseLlm):
    """Calls what the message names, writes a long report, or counts until the gate opens."""

    async def generate_content_async(self, llm_request: Any, stream=False):
        last = llm_request.contents[-1].parts[-1]
        name, _, given = (last.text or "").partition(" ")
        if last.function_response is not None:
            yield says(types.Part(text="Done."))
        elif name in ("place_order", "delete_file"):
            call = types.FunctionCall(name=name, args=json.loads(given))
            yield says(types.Part(function_call=call))
        elif name == "report":
            paragraphs = [f"Paragraph {at}: {'words ' * 30}" for at in range(400)]
            yield says(types.Part(text="\n\n".join(paragraphs)))
        elif name == "count":
            yield says(types.Part(text="one two"), partial=True)
            path = Path(os.environ["OSTINATO_TEST_GATE"])
            while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process opens it
                await asyncio.sleep(0.02)
            yield says(types.Part(text="one two three"))
        else:
            yield says(types.Part(text=f"You said: {last.text}"))


def says(part: types.Part, **more) -> LlmResponse:
    """A response."""
    return LlmResponse(content=types.Content(role="model", parts=[part]), **more)


root_agent = Agent(
    name="shop",
    model=Calls(model="shop"),
    description="A shop for **everything**.",
    tools=[
        FunctionTool(place_order, require_confirmation=True),
        FunctionTool(delete_file, require_confirmation=True),
    ],
)
app = App(
    name="shop",
    root_agent=root_agent,
    resumability_config=ResumabilityConfig(is_resumable=True),
)
