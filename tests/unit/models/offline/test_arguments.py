"""Filling in arguments: what the words say, by type, name and place; nothing is guessed."""

from typing import Any

import pytest

from tests.unit.models.offline.asking import INT, NUM, STR, ask, function

WEATHER = function("get_weather", "Return the current weather of a city.", city=STR)
FLIGHTS = function(
    "search_flights", "Find flights between two cities.", origin=STR, destination=STR, day=STR
)
HOTELS = function(
    "search_hotels", "Find hotels.", ("max_price", "stars"),
    city=STR, nights=INT, max_price=NUM, stars=INT,
)  # fmt: skip


@pytest.mark.parametrize(
    ("message", "tool", "args"),
    [
        ("What's the weather in Rome?", WEATHER, {"city": "Rome"}),
        ("weather in new york please", WEATHER, {"city": "new york"}),
        ("How is the weather in Rio de Janeiro?", WEATHER, {"city": "Rio de Janeiro"}),
        (
            "I want to fly from Berlin to Lisbon on Friday",
            FLIGHTS,
            {"origin": "Berlin", "destination": "Lisbon", "day": "Friday"},
        ),
        (
            "flight to lisbon from berlin tomorrow",
            FLIGHTS,
            {"origin": "berlin", "destination": "lisbon", "day": "tomorrow"},
        ),
        (
            "A hotel in Lisbon for two nights under 120 euros, 4 stars",
            HOTELS,
            {"city": "Lisbon", "nights": 2, "max_price": 120, "stars": 4},
        ),
        (
            "Please reimburse $1,200 for conference travel",
            function("reimburse", "Reimburse money.", amount=NUM, purpose=STR),
            {"amount": 1200, "purpose": "conference travel"},
        ),
        (
            "Cancel order A-17",
            function("cancel_order", "Cancel an order.", order_id=STR),
            {"order_id": "A-17"},
        ),
        (
            "What is the status of order 4711?",
            function("order_status", "Status of an order.", order_id=STR),
            {"order_id": "4711"},
        ),
        (
            "Switch the light to dim blue",
            function("switch_light", "Switch a light.", color={"enum": ["red", "blue"]}),
            {"color": "blue"},
        ),
    ],
)  # fmt: skip
def test_arguments_come_from_the_words(message: str, tool: Any, args: dict[str, Any]) -> None:
    assert ask(message, tools=[tool]) == [(tool.name, args)]


@pytest.mark.parametrize(
    ("message", "tool", "asked"),
    [
        ("What's the weather?", WEATHER, "the city"),
        ("Fly to Lisbon on Friday", FLIGHTS, "the origin"),
        ("I need a hotel in Rome", HOTELS, "the nights"),
        (
            "Switch the light",
            function("switch_light", "Switch a light.", color={"enum": ["red", "blue"]}),
            "the color (one of red, blue)",
        ),
    ],
)
def test_what_is_missing_is_asked_for(message: str, tool: Any, asked: str) -> None:
    answer = ask(message, tools=[tool])
    assert isinstance(answer, str)
    assert f"I still need {asked}. What should I use?" in answer


def test_optional_arguments_stay_away_where_nothing_speaks_for_them() -> None:
    assert ask("A hotel in Rome for 3 nights", tools=[HOTELS]) == [
        ("search_hotels", {"city": "Rome", "nights": 3})
    ]


def test_two_places_in_one_breath_are_two_calls() -> None:
    assert ask("What is the weather in Rome and Paris?", tools=[WEATHER]) == [
        ("get_weather", {"city": "Rome"}),
        ("get_weather", {"city": "Paris"}),
    ]
