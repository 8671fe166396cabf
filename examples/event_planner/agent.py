"""An event planner that gives two tasks, the menu and the room, and has an invitation written.

Try:
- Plan a dinner for twelve
"""

from typing import Any

from pydantic import BaseModel, Field

from ostinato.agents import Agent

ROOMS: dict[str, dict[str, Any]] = {
    "garden": {"seats": 40, "price": 300},
    "library": {"seats": 18, "price": 120},
    "hall": {"seats": 120, "price": 750},
}


class Menu(BaseModel):
    """What will be served."""

    courses: list[str] = Field(description="The courses in order.")
    without: list[str] = Field(default_factory=list, description="What nobody may find in it.")


class Room(BaseModel):
    """Where it takes place."""

    name: str
    price: int = Field(description="Price in euros.")


def find_rooms(guests: int) -> dict[str, Any]:
    """Find rooms that are large enough.

    Args:
      guests: How many people come.
    """
    return {"rooms": {name: room for name, room in ROOMS.items() if room["seats"] >= guests}}


menu = Agent(
    name="menu",
    mode="task",
    description="Plans the menu together with the host.",
    instruction="Ask the host for allergies and wishes, propose a menu, and change it until the "
    "host agrees.",
    output_schema=Menu,
    output_key="menu",
)

room = Agent(
    name="room",
    mode="task",
    description="Finds a room together with the host.",
    instruction="Ask how many guests come, find rooms, and let the host choose one.",
    tools=[find_rooms],
    output_schema=Room,
    output_key="room",
)

invitation = Agent(
    name="invitation",
    mode="single_turn",
    description="Writes the invitation.",
    instruction="Write a short, warm invitation with what you are told.",
)

root_agent = Agent(
    name="event_planner",
    description="Plans events.",
    instruction="Plan the event: have the menu planned, then the room found, then the invitation "
    "written, and sum it up. Give the helpers everything the host has said.",
    sub_agents=[menu, room, invitation],
)
