"""What the agents of this folder can call."""

from typing import Any


def look_up(item: str) -> dict[str, Any]:
    """Look up what an item costs.

    Args:
      item: The item.
    """
    return {"item": item, "price": 3}


def order(item: str) -> dict[str, Any]:
    """Order an item; it takes a while."""
    return {"status": "pending", "item": item}


def make_discount(args: Any) -> Any:
    """Make a tool out of the args in the file."""
    percent = args.percent

    def discount(price: float) -> dict[str, Any]:
        """Take the discount off."""
        return {"price": price * (100 - percent) / 100}

    return discount
