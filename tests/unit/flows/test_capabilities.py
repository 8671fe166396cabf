"""What the flow asks of a model before it puts something into a request."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.agents import LlmAgent
from ostinato.models.capabilities import ModelCapabilities
from ostinato.testing import ScriptedModel, call
from tests.support.optionals import parts_of

from .kit import Store, Talk


class Score(BaseModel):
    points: int


class Able(ScriptedModel):
    """A scripted model that says what it can do."""

    can: ModelCapabilities = ModelCapabilities()

    @property
    def capabilities(self) -> ModelCapabilities:
        return self.can

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return self.can.structured_output_with_tools


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.spec(215)
@pytest.mark.parametrize(
    ("can", "tools", "native"),
    [
        ({}, [], True),
        ({}, [look], False),
        ({"structured_output_with_tools": True}, [look], True),
        ({"structured_output": False}, [], False),
        ({"structured_output": False, "structured_output_with_tools": True}, [look], True),
    ],
)
async def test_the_model_s_capability_decides_how_output_is_structured(
    memory: Store, can: dict[str, bool], tools: list[Any], native: bool
) -> None:
    answer = '{"points": 3}' if native else call("set_model_response", points=3)
    model = Able([answer])  # pyright: ignore[reportCallIssue]
    model.can = ModelCapabilities(**can)
    agent = LlmAgent(name="clerk", model=model, tools=tools, output_schema=Score)
    events = await Talk(agent, memory).say()
    config = model.requests[0].config
    assert (config.response_schema is not None) is native
    assert ("set_model_response" in str(config.tools)) is not native
    assert parts_of(events[-1])[0].text == '{"points": 3}'
