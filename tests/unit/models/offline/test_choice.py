"""Choosing: which functions are called, which are not, and when a question is handed over."""

from typing import Any

import pytest

from ostinato import types
from tests.unit.models.offline.asking import (
    STR,
    ask,
    called,
    function,
    model,
    overheard,
    returned,
)

WEATHER = function("get_weather", "Return the current weather of a city.", city=STR)
TIME = function("get_current_time", "Return the current time in a city.", city=STR)
SEARCH = function("search_flights", "Find flights.", origin=STR, destination=STR)
BOOK = function("book_flight", "Book a seat on a flight.", flight_number=STR, passenger=STR)
TRANSFER = function(
    "transfer_to_agent", "Hand over.", agent_name={"enum": ["flights", "hotels", "desk"]}
)
DESK = """You plan trips.

You are an agent. Your internal name is "desk". The description about you is "Plans trips.".

You have a list of other agents to transfer to:


Agent name: flights
Agent description: Finds and books flights between European cities.


Agent name: hotels
Agent description: Finds hotel rooms in European cities.

"""
CHILD = """You have a list of other agents to transfer to:


Agent name: desk
Agent description: Plans trips and knows what cities are worth seeing.


Agent name: hotels
Agent description: Finds hotel rooms in European cities.

If neither you nor the other agents are best for the question, transfer to your
parent agent desk.
"""


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Will it rain in Oslo?", ["get_weather"]),
        ("What time is it in Rome?", ["get_current_time"]),
        ("weather and time in Rome?", ["get_weather", "get_current_time"]),
    ],
)
def test_functions_are_picked_by_words(message: str, names: list[str]) -> None:
    calls = ask(message, tools=[WEATHER, TIME])
    assert [name for name, _ in calls] == names


def test_nothing_that_fits_is_said_honestly() -> None:
    answer = ask("Tell me a joke", tools=[WEATHER])
    assert answer == (
        "I found nothing among my tools that fits “Tell me a joke”. "
        "I can help with: Return the current weather of a city."
    )
    assert "a real model would be needed" in ask("Tell me a joke")


def test_a_tool_that_changes_something_needs_its_verb_in_the_message() -> None:
    cancel = function("cancel_order", "Cancel an order.", order_id=STR)
    assert isinstance(ask("What is the order A-17 about?", tools=[cancel]), str)
    assert ask("Cancel the order A-17", tools=[cancel]) == [("cancel_order", {"order_id": "A-17"})]


def test_a_function_is_called_once_in_a_turn() -> None:
    answer = ask(
        "What's the weather in Rome?",
        called("get_weather", city="Rome"),
        returned("get_weather", {"sky": "clear", "temperature": 24}),
        tools=[WEATHER],
    )
    assert answer == "Get weather: sky clear, temperature 24."


def test_a_new_message_is_a_new_turn() -> None:
    calls = ask(
        "What's the weather in Rome?",
        called("get_weather", city="Rome"),
        returned("get_weather", {"sky": "clear"}),
        model("Clear."),
        "And the weather in Rome now?",
        tools=[WEATHER],
    )
    assert calls == [("get_weather", {"city": "Rome"})]


def test_what_is_seen_to_is_not_looked_at_again() -> None:
    tools = [
        function("list_invoices", "List the open invoices."),
        function("pay_invoice", "Pay an invoice.", invoice_id=STR),
    ]
    answer = ask(
        "Pay invoice A-101",
        called("pay_invoice", invoice_id="A-101"),
        returned("pay_invoice", {"result": "Paid."}),
        tools=tools,
    )
    assert answer == "Paid."


def test_the_parent_is_asked_where_its_description_fits_better() -> None:
    calls = ask("What is there to see in Rome?", tools=[SEARCH, TRANSFER], instruction=CHILD)
    assert calls == [("transfer_to_agent", {"agent_name": "desk"})]


def test_an_answer_to_a_question_completes_the_earlier_message() -> None:
    question = "To get weather I still need the city. What should I use?"
    calls = ask("What's the weather?", model(question), "Rome", tools=[WEATHER, TIME])
    assert calls == [("get_weather", {"city": "Rome"})]


def test_what_is_missing_comes_from_the_one_result_that_has_it() -> None:
    turn: list[Any] = [
        "Book a flight from Berlin to Rome for Anna Schmidt",
        called("search_flights", origin="Berlin", destination="Rome"),
    ]
    one = returned("search_flights", {"result": [{"flight_number": "AZ422"}]})
    assert ask(*turn, one, tools=[SEARCH, BOOK]) == [
        ("book_flight", {"passenger": "Anna Schmidt", "flight_number": "AZ422"})
    ]
    two = returned("search_flights", {"result": [{"flight_number": "A1"}, {"flight_number": "B2"}]})
    answer = ask(*turn, two, tools=[SEARCH, BOOK])
    assert isinstance(answer, str)
    assert "(1) flight number A1; (2) flight number B2" in answer
    assert answer.endswith("To book flight I still need the flight number. What should I use?")


def test_a_function_that_the_instruction_names_is_called_with_the_topic() -> None:
    search = function("search_notes", "Search the notes.", topic=STR)
    message = "Write a short report about electric ferries"
    assert ask(message, tools=[search], instruction="Use search_notes first.") == [
        ("search_notes", {"topic": "electric ferries"})
    ]
    assert isinstance(ask(message, tools=[search]), str)


@pytest.mark.parametrize(
    ("message", "target"),
    [
        ("I want to fly from Berlin to Lisbon on Friday", "flights"),
        ("I need a room in Rome", "hotels"),
    ],
)
def test_a_question_goes_to_the_agent_whose_description_fits(message: str, target: str) -> None:
    calls = ask(message, tools=[TRANSFER], instruction=DESK)
    assert calls == [("transfer_to_agent", {"agent_name": target})]


def test_own_tools_that_fit_better_are_used() -> None:
    calls = ask("flights from Berlin to Rome", tools=[SEARCH, TRANSFER], instruction=CHILD)
    assert calls == [("search_flights", {"origin": "Berlin", "destination": "Rome"})]


def test_small_talk_is_not_handed_over() -> None:
    answer = ask("Hello!", tools=[TRANSFER], instruction=DESK)
    assert isinstance(answer, str)
    assert answer.startswith("Hello! I can help with: Finds and books flights")


def test_what_nothing_fits_goes_back_to_the_parent_once() -> None:
    tools = [SEARCH, TRANSFER]
    assert ask("Tell me a joke", tools=tools, instruction=CHILD) == [
        ("transfer_to_agent", {"agent_name": "desk"})
    ]
    handed = overheard(
        "[desk] called tool `transfer_to_agent` with parameters: {'agent_name': 'x'}"
    )
    assert isinstance(ask("Tell me a joke", handed, tools=tools, instruction=CHILD), str)


def test_an_agent_that_had_its_turn_is_not_asked_again() -> None:
    handed = overheard("[hotels] said: No rooms.")
    answer = ask("I need a room in Rome", handed, tools=[TRANSFER], instruction=DESK)
    assert answer == "No rooms."


def test_the_rest_of_a_question_goes_on_to_the_agent_for_it() -> None:
    calls = ask(
        "A flight from Berlin to Rome and a hotel there",
        called("search_flights", origin="Berlin", destination="Rome"),
        returned("search_flights", {"result": []}),
        tools=[SEARCH, TRANSFER],
        instruction=CHILD,
    )
    assert calls == [("transfer_to_agent", {"agent_name": "hotels"})]


def test_a_loop_ends_once_there_is_something_to_review() -> None:
    tools = [function("exit_loop", "End the loop.")]
    draft = overheard("[writer] said: A fine draft.")
    assert ask("Write about tea", draft, tools=tools) == [("exit_loop", {})]
    assert isinstance(ask("Write about tea", tools=tools), str)


def test_declarations_may_be_schemas() -> None:
    schema = types.Schema(
        type=types.Type.OBJECT,
        properties={"city": types.Schema(type=types.Type.STRING)},
        required=["city"],
    )
    tool = types.FunctionDeclaration(name="get_weather", parameters=schema)
    assert ask("weather in Rome", tools=[tool]) == [("get_weather", {"city": "Rome"})]
