"""A graph that asks a person: about a trip with a form, or in words."""

from typing import Literal

from pydantic import BaseModel, Field

from ostinato.events.request_input import RequestInput
from ostinato.workflow import START, Workflow


class Hotel(BaseModel):
    """Where to sleep."""

    name: str
    stars: int | None = None


class Trip(BaseModel):
    """A trip."""

    city: str = Field(description="Where it goes")
    nights: int = 2
    budget: float
    season: Literal["summer", "winter"]
    refundable: bool
    stops: list[str] = []
    hotel: Hotel


def begin(node_input: str) -> str:
    """Note what was said first."""
    return node_input


def ask(node_input: str) -> RequestInput:
    """Ask about a trip, in words, or for a decision."""
    schemas = {"trip": Trip, "number": int, "decide": bool}
    schema = schemas.get(node_input.split()[0])
    return RequestInput(message=f"What about {node_input}?", response_schema=schema)


def also(node_input: str):
    """Ask a second question at the same time."""
    if "both" in node_input:
        return RequestInput(message="And the second?")


def use(node_input) -> str:
    """Say what was answered."""
    return f"It is {node_input!r}."


def end(node_input) -> None:
    """End a way without an output."""


root_agent = Workflow(name="survey", edges=[(START, begin, ask, use), (START, also, end)])
