"""An agent without a network that makes something of whatever it is told."""

from collections.abc import AsyncGenerator
from typing import Any

from ostinato.agents import Agent
from ostinato.models import BaseLlm, LlmResponse
from ostinato.tools import FunctionTool, ToolContext
from ostinato.types import Part


async def keep(tool_context: ToolContext) -> dict[str, Any]:
    """Keep a file and a word."""
    tool_context.state["kept"] = True
    return {"version": await tool_context.save_artifact("kept.txt", Part(text="kept"))}


def pay(amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount}


class EvenOdd(BaseLlm):
    """Calls a tool on a message, by how many there were, and answers everything else."""

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        contents = llm_request.contents
        parts = (contents[-1].parts or []) if contents else []
        if any(part.function_response for part in parts) or len(contents) % 3 == 0:
            part: dict[str, Any] = {"text": "Done."}
        elif len(contents) % 3 == 1:
            part = {"functionCall": {"name": "keep", "args": {}}}
        else:
            part = {"functionCall": {"name": "pay", "args": {"amount": len(contents)}}}
        yield LlmResponse.model_validate({"content": {"role": "model", "parts": [part]}})


root_agent = Agent(
    name="desk",
    model=EvenOdd(model="even-odd"),
    tools=[keep, FunctionTool(pay, require_confirmation=True)],
)
"""Its name is that of its folder."""
