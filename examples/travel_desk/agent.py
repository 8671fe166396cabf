"""A desk that answers simple questions itself and hands flights and hotels to two colleagues.

Try:
- I want to fly from Berlin to Lisbon on Friday
- Find a hotel in Lisbon for two nights under 100 euros
- What is there to see in Rome?
"""

from typing import Any

from ostinato.agents import Agent
from ostinato.tools import FunctionTool, ToolContext

from .offers import FLIGHTS, HOTELS, SIGHTS


def search_flights(origin: str, destination: str, day: str) -> dict[str, Any]:
    """Find flights between two cities on a day.

    Args:
      origin: City the flight leaves from.
      destination: City the flight goes to.
      day: Day of the week, such as Friday.
    """
    route = [
        flight
        for flight in FLIGHTS
        if flight["origin"].lower() == origin.lower()
        and flight["destination"].lower() == destination.lower()
    ]
    flights = [
        {key: flight[key] for key in ("flight_number", "departs", "arrives", "price")}
        for flight in route
        if day.lower().split()[-1] in flight["days"]
    ]
    if flights:
        return {"flights": flights}
    days = sorted({day for flight in route for day in flight["days"]})
    other = f"; there are flights on {', '.join(days)}" if days else ""
    return {"message": f"No flights from {origin} to {destination} on {day}{other}."}


def book_flight(flight_number: str, passenger: str, tool_context: ToolContext) -> dict[str, Any]:
    """Book a seat on a flight.

    Args:
      flight_number: Number of the flight, such as TP533.
      passenger: Name of the passenger.
    """
    flight = next((f for f in FLIGHTS if f["flight_number"] == flight_number.upper()), None)
    if flight is None:
        return {"error": f"There is no flight {flight_number}."}
    booked = [*tool_context.state.get("bookings", []), flight["flight_number"]]
    tool_context.state["bookings"] = booked
    return {
        "message": f"Booked {flight['flight_number']} for {passenger}, {flight['price']} euros."
    }


def search_hotels(city: str, nights: int = 1, max_price: float | None = None) -> dict[str, Any]:
    """Find hotels in a city.

    Args:
      city: City to stay in.
      nights: Number of nights.
      max_price: Highest price of a night, in euros.
    """
    hotels = [
        {"hotel": h["hotel"], "stars": h["stars"], "price": h["price_per_night"] * nights}
        for h in HOTELS
        if h["city"].lower() == city.lower()
        and (max_price is None or h["price_per_night"] <= max_price)
    ]
    return {"hotels": hotels} if hotels else {"message": f"No hotels found in {city}."}


def city_guide(city: str) -> dict[str, Any]:
    """Tell what a city is known for and what to see there.

    Args:
      city: Name of the city.
    """
    return {"report": SIGHTS.get(city.lower(), f"The guide has no page on {city}.")}


flights = Agent(
    name="flights",
    description="Finds and books flights between European cities.",
    instruction=(
        "You sell flights. Search with search_flights before you book with book_flight, and book "
        "only what the customer asked for."
    ),
    tools=[search_flights, FunctionTool(book_flight, require_confirmation=True)],
)

hotels = Agent(
    name="hotels",
    description="Finds hotel rooms in European cities.",
    instruction="You find rooms with search_hotels. Ask for the city if you do not know it.",
    tools=[search_hotels],
)

root_agent = Agent(
    name="travel_desk",
    description="Helps to plan a trip and knows what cities are worth seeing.",
    instruction=(
        "You are the front desk of a travel agency. Answer questions about cities with city_guide; "
        "leave flights and hotels to your colleagues."
    ),
    tools=[city_guide],
    sub_agents=[flights, hotels],
)
