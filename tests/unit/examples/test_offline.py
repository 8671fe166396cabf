"""The examples over the offline model: what `ostinato run` shows on a laptop without a key."""

import ast
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from ostinato.context.run_config import RunConfig, StreamingMode
from ostinato.models.offline_llm import OfflineLlm
from ostinato.server.example_prompts import read_examples
from ostinato.testing import Conversation, HistoryGuard, assert_trace, tool_calls, trace
from tests.unit.examples.loading import FOLDER, NAMES, agents_of, example, put_models, put_offline


@pytest.fixture
def talk(request: pytest.FixtureRequest) -> Iterator[Conversation]:
    with example(request.param) as module:
        put_offline(module.root_agent)
        yield Conversation(getattr(module, "app", None) or module.root_agent)


def offline(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("talk", [name], indirect=True)


def test_there_are_six_and_a_workflow() -> None:
    with_models = ["analyst", "approvals", "event_planner", "research", "travel_desk", "weather"]
    assert NAMES == sorted([*with_models, "document_pipeline"])


@pytest.mark.parametrize("name", [*NAMES, "bakery"])
def test_each_has_messages_to_begin_with(name: str) -> None:
    file = FOLDER / name / ("__init__.py" if name == "bakery" else "agent.py")
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert read_examples(doc)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_folder_as_the_command_line_wants_it(name: str) -> None:
    assert (FOLDER / name / "__init__.py").is_file()
    readme = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert f"ostinato run examples/{name} " in readme
    with example(name) as module:
        agents = agents_of(module.root_agent)
        assert all(agent.description for agent in agents if hasattr(agent, "model"))
        assert all(agent.model == "" for agent in agents if hasattr(agent, "model"))


@pytest.mark.parametrize("name", NAMES)
async def test_the_commands_of_the_readme_end_with_words_or_a_question(name: str) -> None:
    readme = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    for message in re.findall(r'ostinato run \S+ "([^"]+)"', readme):
        with example(name) as module:
            put_models(module.root_agent, lambda name: HistoryGuard(OfflineLlm()))
            talk = Conversation(getattr(module, "app", None) or module.root_agent)
            await talk.say(message)
            assert talk.text or talk.pending(), trace(talk.events)
            assert "found nothing" not in talk.text


@offline("travel_desk")
async def test_travel_desk_hands_over_and_answers(talk: Conversation) -> None:
    await talk.say("I want to fly from Berlin to Lisbon on Friday")
    assert tool_calls(talk.events) == [
        ("transfer_to_agent", {"agent_name": "flights"}),
        ("search_flights", {"origin": "Berlin", "destination": "Lisbon", "day": "Friday"}),
    ]
    assert talk.text == (
        "Found 2 flights: (1) flight number TP533, departs 06:50, arrives 09:35, price 129; "
        "(2) flight number LH1172, departs 13:05, arrives 17:40, price 184."
    )
    await talk.say("And a hotel in Lisbon for two nights under 100 euros")
    assert talk.text == "Found 1 hotel: (1) hotel Casa do Rio, stars 3, price 184."
    await talk.say("What is there to see in Rome?")
    assert talk.events[-1].author == "travel_desk"
    assert talk.text.startswith("Rome is best known for")


@offline("travel_desk")
async def test_travel_desk_asks_for_what_it_needs(talk: Conversation) -> None:
    await talk.say("I want to fly to Lisbon")
    assert talk.text.startswith("To search flights I still need the origin")
    await talk.say("from Berlin")
    assert "the day" in talk.text
    assert "origin" not in talk.text
    await talk.say("Friday")
    assert talk.text.startswith("Found 2 flights")


@offline("travel_desk")
async def test_travel_desk_books_what_was_confirmed(talk: Conversation) -> None:
    await talk.say("Book a flight from Berlin to Rome on Monday for Bob Jones")
    (asked,) = talk.pending()
    assert asked.name == "adk_request_confirmation"
    await talk.answer(asked, {"confirmed": True})
    assert talk.text.endswith(" Booked AZ422 for Bob Jones, 97 euros.")
    assert (await talk.session()).state["bookings"] == ["AZ422"]


@offline("travel_desk")
async def test_one_question_for_two_colleagues(talk: Conversation) -> None:
    await talk.say("A flight from Berlin to Lisbon on Friday and a hotel in Lisbon for 3 nights")
    assert [name for name, _ in tool_calls(talk.events)] == [
        "transfer_to_agent",
        "search_flights",
        "transfer_to_agent",
        "search_hotels",
    ]
    assert "Found 2 flights" in talk.text
    assert "Found 2 hotels" in talk.text


@offline("travel_desk")
async def test_answers_stream_word_by_word(talk: Conversation) -> None:
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    await talk.say("What is there to see in Rome?", run_config=config)
    pieces = [
        part.text or ""
        for event in talk.events
        if event.partial and event.content is not None
        for part in event.content.parts or []
    ]
    assert len(pieces) > 5
    assert "".join(pieces) == talk.text


@offline("weather")
async def test_weather_remembers(talk: Conversation) -> None:
    await talk.say("What is the weather in Rome and Oslo?")
    assert talk.text == (
        "In Rome it is sunny at 24 degrees Celsius. "
        "In Oslo it is snow showers at -2 degrees Celsius."
    )
    await talk.say("Switch to fahrenheit")
    await talk.say("And what's the weather in Tokyo?")
    assert talk.text == "In Tokyo it is clear at 66 degrees Fahrenheit."
    await talk.say("Which city did I ask about last?")
    assert talk.text == "The last city was Tokyo."
    await talk.say("weather in Atlantis")
    assert talk.text.startswith("Get weather did not work: No weather station in Atlantis.")


@offline("approvals")
async def test_approvals_wait_for_a_yes(talk: Conversation) -> None:
    await talk.say("Pay invoice A-101")
    assert talk.text == "Paid 84 euros to Paper & Co for A-101."
    await talk.say("Pay invoice A-102")
    (asked,) = talk.pending()
    await talk.answer(asked, {"confirmed": False})
    assert "rejected" in talk.text
    await talk.say("Pay invoice A-102")
    (asked,) = talk.pending()
    await talk.answer(asked, {"confirmed": True})
    assert talk.text == "Paid 1250 euros to Northwind Servers for A-102."
    await talk.say("Which invoices are open?")
    assert talk.text == "Found 1 invoice: (1) invoice id A-103, from City Power, amount 310."


async def test_a_budget_waits_for_the_manager() -> None:
    with example("approvals") as module:
        put_offline(module.root_agent)
        talk = Conversation(module.root_agent)
        await talk.say("Request a budget of 2000 euros for a conference")
        assert "status pending" in talk.text
        (asked,) = talk.pending()
        assert asked.args == {"amount": 2000, "purpose": "conference"}
        await talk.answer(asked, {"status": "success", "message": "The manager agrees."})
        assert talk.text == "The manager agrees."


@offline("research")
async def test_research_gathers_writes_and_reviews(talk: Conversation) -> None:
    await talk.say("Write a short report about electric ferries")
    calls = tool_calls(talk.events)
    assert sorted(name for name, _ in calls[:2]) == ["search_facts", "search_figures"]
    assert calls[2:] == [("exit_loop", {})]
    assert "first large electric car ferry" in talk.text
    assert "60 percent less energy" in talk.text
    state = (await talk.session()).state
    assert state["report"] == talk.text
    assert_trace(talk.events, [..., "reviewer: exit_loop()", ..., "reviewer: [skip_summarization]"])


@offline("analyst")
async def test_analyst_computes(talk: Conversation) -> None:
    await talk.say("Which region has the highest revenue?")
    assert "revenue by region: south 29218, north 20738, west 16498" in talk.text
    await talk.say("How many units were sold per product?")
    assert "units by product: coffee 8062, bread 5246, cake 1026" in talk.text


def test_examples_do_not_stay_loaded() -> None:
    def load() -> ModuleType:
        with example("weather") as module:
            return module

    assert load() is not load()
