"""An agent whose tools are deferred but for one, for tests of the providers' own tool search."""

from __future__ import annotations

from typing import Any

from ostinato.agents import LlmAgent
from ostinato.models.base_llm import BaseLlm
from ostinato.tools import FunctionTool

ran: list[str] = []


def make_tool(name: str) -> FunctionTool:
    """Return a deferred tool."""

    def act(number: int) -> str:
        ran.append(f"{name} {number}")
        return f"{name} did {number}"

    act.__name__, act.__doc__ = name, f"Do {name.replace('_', ' ')}."
    return FunctionTool(act, defer=True)


def greet() -> str:
    """Greet the user."""
    return "hello"


def make_clerk(model: BaseLlm, *names: str, **fields: Any) -> LlmAgent:
    """Return an agent with `greet` and deferred tools of these names."""
    ran.clear()
    tools = [make_tool(name) for name in names or ("list_orders", "cancel_order", "ship_order")]
    return LlmAgent(name="clerk", model=model, tools=[tools[0], greet, *tools[1:]], **fields)
