"""An office whose agents call each other: one as a tool whose events are streamed, one for a single
turn, twice at a time, one with a task.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools.agent_tool import AgentTool

ROME = {"city": "Rome"}
CALLS = {
    "research": [("research", {"request": "the weather"})],
    "clerks": [("clerk", {"request": "Rome"}), ("clerk", {"request": "Oslo"})],
    "book": [("booker", {"request": "a flight"})],
}


def lookup(city: str) -> dict:
    """Look up the weather of a city."""
    return {"report": f"sunny in {city}"}


class Rules(BaseLlm):
    """The root calls what the message names; the others look something up, then answer."""

    async def generate_content_async(self, llm_request: Any, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response is not None and last.function_response.name == "lookup":
            if self.model == "booker":
                yield calls([("finish_task", {"result": "booked"})])
                return
            if self.model == "research":
                if stream:
                    yield says("It is ", partial=True)
                await gate()
        elif self.model != "root" and last.function_response is None:
            yield calls([("lookup", ROME)])
            return
        elif last.text in CALLS:
            yield calls(CALLS[last.text])
            return
        yield says("It is sunny.")


def calls(wanted: list) -> LlmResponse:
    """A response with calls."""
    parts = [types.Part(function_call=types.FunctionCall(name=n, args=a)) for n, a in wanted]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def says(text: str, **more) -> LlmResponse:
    """A response in words."""
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, **more)


async def gate() -> None:
    """Wait until the test opens the gate."""
    path = Path(os.environ["OSTINATO_TEST_GATE"])
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process opens it
        await asyncio.sleep(0.02)


def member(name: str, **more) -> Agent:
    """One of the office."""
    model = Rules(model=name)
    return Agent(name=name, model=model, description=f"The {name}.", tools=[lookup], **more)


root_agent = Agent(
    name="root",
    model=Rules(model="root"),
    tools=[AgentTool(member("research"), stream=True)],
    sub_agents=[member("clerk", mode="single_turn"), member("booker", mode="task")],
)
