"""What the model is told of functions: names, descriptions, parameters, required ones."""

from typing import Literal, Optional

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.adk.tools.agent_tool import AgentTool
from showing import show


def plain(city: str, days: int = 1, tool_context: ToolContext = None) -> dict:
    """Forecasts the weather.

    Args:
        city: The city.
        days: How many days.
    """
    return {}


def typed(kind: Literal["a", "b"], tags: list[str], ratio: Optional[float] = None) -> str:
    """Takes types."""
    return ""


class Shop:
    """A shop."""

    def __call__(self, item: str) -> str:
        """Sells an item."""
        return item


def shape(schema):
    if schema is None:
        return None
    if hasattr(schema, "model_dump"):
        schema = schema.model_dump(mode="json", exclude_none=True)
    return {
        name: str(item.get("type", item.get("anyOf", ""))).lower()
        for name, item in schema.get("properties", {}).items()
    }


agent = AgentTool(agent=LlmAgent(name="helper", description="Helps."))
for tool in (
    FunctionTool(plain),
    FunctionTool(typed),
    FunctionTool(Shop()),
    LongRunningFunctionTool(plain),
    agent,
):
    told = tool._get_declaration()
    schema = told.parameters or told.parameters_json_schema
    required = schema.required if hasattr(schema, "required") else schema.get("required")
    show(
        name=told.name,
        lines=(told.description or "").strip().splitlines()[:1],
        long=tool.is_long_running,
        shape=shape(schema),
        required=required,
    )
