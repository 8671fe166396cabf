"""Filling in arguments: what the words say, by type, name and place; nothing is guessed."""

from typing import Any

import pytest

from ostinato import _clock
from ostinato.models.offline.arguments import iso_date
from tests.models.offline.asking import INT, NUM, STR, ask, function

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
            "Berlin to Lisbon flights on 2026-05-01",
            FLIGHTS,
            {"origin": "Berlin", "destination": "Lisbon", "day": "2026-05-01"},
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
            "Convert 99.5 USD to EUR",
            function("convert", "Convert money.", amount=NUM, from_currency=STR, to_currency=STR),
            {"amount": 99.5, "from_currency": "USD", "to_currency": "EUR"},
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
            'Send a mail to bob@example.org about "Lunch" saying see you at noon',
            function("send_mail", "Send a mail.", to=STR, subject=STR, body=STR),
            {"to": "bob@example.org", "subject": "Lunch", "body": "see you at noon"},
        ),
        (
            "What is 3 * (4+5)?",
            function("evaluate", "Evaluate.", expression=STR),
            {"expression": "3 * (4+5)"},
        ),
        (
            "Are 7, 9 and 13 prime?",
            function("check_prime", "Check primes.", nums={"type": "array", "items": INT}),
            {"nums": [7, 9, 13]},
        ),
        (
            "Add milk to my shopping list",
            function("add_item", "Add an item to the list.", item=STR),
            {"item": "milk"},
        ),
        (
            "Switch the light to dim blue",
            function("switch_light", "Switch a light.", color={"enum": ["red", "blue"]}),
            {"color": "blue"},
        ),
        (
            "List files without hidden ones",
            function("list_files", "List files.", hidden={"type": "boolean"}),
            {"hidden": False},
        ),
        (
            "Summarize https://example.org/a please",
            function("summarize", "Summarize a page.", url=STR),
            {"url": "https://example.org/a"},
        ),
        (
            "Create a ticket titled \"Broken door\" for room 7",
            function(
                "create_ticket", "Create a ticket.",
                ticket={
                    "type": "object",
                    "properties": {"title": STR, "room": INT},
                    "required": ["title", "room"],
                },
            ),
            {"ticket": {"title": "Broken door", "room": 7}},
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


def test_the_question_uses_what_a_docstring_says_of_the_argument() -> None:
    tool = function(
        "find_train", "Find a train.\n\nArgs:\n  stop: Station to leave from.", stop=STR
    )
    assert ask("find a train", tools=[tool]) == (
        "To find train I still need the stop (Station to leave from). What should I use?"
    )


def test_optional_arguments_stay_away_where_nothing_speaks_for_them() -> None:
    assert ask("A hotel in Rome for 3 nights", tools=[HOTELS]) == [
        ("search_hotels", {"city": "Rome", "nights": 3})
    ]


def test_two_places_in_one_breath_are_two_calls() -> None:
    assert ask("What is the weather in Rome and Paris?", tools=[WEATHER]) == [
        ("get_weather", {"city": "Rome"}),
        ("get_weather", {"city": "Paris"}),
    ]


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ("today", "2026-01-01"),
        ("tomorrow", "2026-01-02"),
        ("Friday", "2026-01-02"),
        ("next Thursday", "2026-01-08"),
        ("12 May", "2026-05-12"),
        ("May 12, 2027", "2027-05-12"),
        ("24.12.2026", "2026-12-24"),
        ("2026-03-04", "2026-03-04"),
        ("31 Feb", "31 feb"),
    ],
)
def test_dates_for_tools_that_want_a_calendar_date(said: str, date: str) -> None:
    with _clock.replaced(time=lambda: 1_767_225_600.0):  # Thursday, 2026-01-01
        assert iso_date(said) == date
