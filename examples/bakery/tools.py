"""What the agents of the bakery can do."""

from typing import Any

from ostinato.tools import ToolContext

# Bread -> price in euros.
BREADS = {"baguette": 1.8, "rye": 4.2, "sourdough": 5.5}


def list_breads() -> dict[str, Any]:
    """List the breads of today with their prices in euros."""
    return {"breads": BREADS}


def order_bread(bread: str, number: int, tool_context: ToolContext) -> dict[str, Any]:
    """Order loaves of one bread.

    Args:
      bread: The bread, such as rye.
      number: How many loaves.
    """
    if bread.lower() not in BREADS:
        return {"error": f"There is no {bread}. There is: {', '.join(BREADS)}."}
    tool_context.state["loaves"] = tool_context.state.get("loaves", 0) + number
    return {"total": round(BREADS[bread.lower()] * number, 2)}


def is_large(number: int = 1, **_: Any) -> bool:
    """Tell whether an order has to be confirmed first."""
    return number > 10


def note_customer(callback_context: Any) -> None:
    """Remember that somebody came to order."""
    callback_context.state["customers"] = callback_context.state.get("customers", 0) + 1
