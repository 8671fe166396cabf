"""An agent with three tools that remembers the unit of temperature a user likes.

Try:
- What is the weather in Rome and Oslo?
- Switch to fahrenheit
"""

from typing import Any, Literal

from ostinato.agents import Agent
from ostinato.tools import ToolContext

# City -> sky, temperature in degrees Celsius, offset of its clock from UTC in hours.
CLIMATE: dict[str, tuple[str, int, int]] = {
    "berlin": ("cloudy", 14, 1),
    "cairo": ("clear", 31, 2),
    "lisbon": ("sunny", 22, 0),
    "london": ("light rain", 12, 0),
    "new york": ("partly cloudy", 18, -5),
    "oslo": ("snow showers", -2, 1),
    "paris": ("overcast", 15, 1),
    "rome": ("sunny", 24, 1),
    "tokyo": ("clear", 19, 9),
}


def get_weather(city: str, tool_context: ToolContext) -> dict[str, Any]:
    """Return the current weather of a city.

    Args:
      city: Name of the city, such as Rome.
    """
    known = CLIMATE.get(city.lower())
    if known is None:
        return {"error": f"No weather station in {city}. Known: {', '.join(CLIMATE)}."}
    sky, celsius, _ = known
    unit = tool_context.state.get("user:unit", "celsius")
    degrees = celsius if unit == "celsius" else round(celsius * 9 / 5 + 32)
    tool_context.state["last_city"] = city
    return {"report": f"In {city} it is {sky} at {degrees} degrees {unit.capitalize()}."}


def switch_unit(
    unit: Literal["celsius", "fahrenheit"], tool_context: ToolContext
) -> dict[str, Any]:
    """Show temperatures in Celsius or in Fahrenheit from now on.

    Args:
      unit: The unit to use.
    """
    tool_context.state["user:unit"] = unit
    return {"message": f"Temperatures are now in degrees {unit.capitalize()}."}


def last_city(tool_context: ToolContext) -> dict[str, Any]:
    """Tell which city the user asked about last."""
    city = tool_context.state.get("last_city")
    return {"message": f"The last city was {city}." if city else "No city was asked for yet."}


root_agent = Agent(
    name="weather",
    description="Tells the weather in cities.",
    instruction=(
        "You tell people the weather. Use get_weather for a city's weather, and switch_unit when "
        "they ask for another unit. Answer in one or two sentences."
    ),
    tools=[get_weather, switch_unit, last_city],
)
