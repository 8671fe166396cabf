"""The examples over scripted models: their wiring, apart from what any model makes of it."""

import re
from collections.abc import Callable

from ostinato import types
from ostinato.events import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.testing import Conversation, ScriptedModel, assert_trace, call
from tests.unit.examples.loading import example, put_models


def by_name(**scripts: ScriptedModel) -> Callable[[str], BaseLlm]:
    return lambda name: scripts.get(name) or ScriptedModel()


async def test_weather_shares_state_between_tools() -> None:
    model = ScriptedModel(
        [
            [call("switch_unit", unit="fahrenheit"), call("get_weather", city="Cairo")],
            call("last_city"),
            "Hot.",
        ]
    )
    with example("weather") as module:
        put_models(module.root_agent, by_name(weather=model))
        talk = Conversation(module.root_agent)
        await talk.say("How hot is it in Cairo?")
    assert talk.text == "Hot."
    assert model.requests[2].function_responses[-1].response == {
        "message": "The last city was Cairo."
    }
    assert (await talk.session()).state == {"last_city": "Cairo", "user:unit": "fahrenheit"}


async def test_travel_desk_hands_on_between_colleagues() -> None:
    models = {
        "travel_desk": ScriptedModel([call("transfer_to_agent", agent_name="flights")]),
        "flights": ScriptedModel(
            [
                call("search_flights", origin="Berlin", destination="Lisbon", day="Monday"),
                call("transfer_to_agent", agent_name="hotels"),
            ]
        ),
        "hotels": ScriptedModel([call("search_hotels", city="Lisbon", max_price=100), "Done."]),
    }
    with example("travel_desk") as module:
        put_models(module.root_agent, by_name(**models))
        talk = Conversation(module.root_agent)
        await talk.say("A trip to Lisbon, please")
    assert_trace(
        talk.events,
        [
            "travel_desk: transfer_to_agent(agent_name='flights')",
            ...,
            "flights: search_flights(origin='Berlin', destination='Lisbon', day='Monday')",
            re.compile(r"flights: search_flights -> \{'flights': \[.*'TP533'.*"),
            "flights: transfer_to_agent(agent_name='hotels')",
            ...,
            "hotels: search_hotels(city='Lisbon', max_price=100)",
            re.compile(r"hotels: search_hotels -> \{'hotels': \[.*'Casa do Rio'.*"),
            "hotels: Done.",
        ],
    )
    desk = models["travel_desk"].requests[0]
    assert sorted(desk.tool_names) == ["city_guide", "transfer_to_agent"]
    assert "Agent name: flights" in desk.instruction
    for model in models.values():
        model.assert_finished()


async def test_small_invoices_are_paid_without_a_question() -> None:
    model = ScriptedModel(
        [
            [call("pay_invoice", invoice_id="a-103"), call("pay_invoice", invoice_id="A-999")],
            "Paid.",
        ]
    )
    with example("approvals") as module:
        put_models(module.root_agent, by_name(accounts=model))
        talk = Conversation(module.app)
        await talk.say("Pay A-103 and A-999")
    paid, missing = model.requests[1].function_responses
    assert paid.response == {"message": "Paid 310 euros to City Power for A-103."}
    assert missing.response == {"error": "There is no invoice A-999."}
    assert talk.pending() == []


async def test_research_runs_further_rounds_until_the_reviewer_is_content() -> None:
    models = {
        "facts": ScriptedModel(["Ferries float."]),
        "figures": ScriptedModel(["Two of them."]),
        "writer": ScriptedModel(["Draft.", "Better draft."]),
        "reviewer": ScriptedModel(["Figures are missing.", call("exit_loop")]),
    }
    with example("research") as module:
        put_models(module.root_agent, by_name(**models))
        talk = Conversation(module.root_agent)
        await talk.say("Write about ferries")
    assert talk.text == "Better draft."
    first, second = models["writer"].requests
    assert "Facts: Ferries float. Figures: Two of them." in first.instruction
    assert "[reviewer] said: Figures are missing." in second.texts
    for model in models.values():
        model.assert_finished()


async def test_analyst_runs_the_code_it_writes() -> None:
    with example("analyst") as module:
        code = (
            "import csv\n"
            f"rows = list(csv.DictReader(open({str(module.FILE)!r}, newline='')))\n"
            "print(len(rows), sum(int(row['units']) for row in rows))"
        )
        model = ScriptedModel([f"Let me count.\n```python\n{code}\n```", "14334 units."])
        put_models(module.root_agent, by_name(analyst=model))
        talk = Conversation(module.root_agent)
        await talk.say("How many units were sold?")
    assert talk.text == "14334 units."
    assert "36 14334" in model.requests[1].texts[-1]


async def test_document_pipeline_checks_asks_a_person_and_publishes() -> None:
    with example("document_pipeline") as module:
        module.FAILURES["register"] = 1
        talk = Conversation(module.root_agent)
        first = await talk.say("Contract of 2026-01-31: Northwind pays Paper & Co 1200 euros.")
        assert [e.error_code for e in first if e.error_code] == ["RegisterDown"]
        wish = await talk.say(answer_request(first, "Say who pays."))
        last = await talk.say(answer_request(wish, "yes"))
    assert last[-1].output == (
        "Published: A contract between Northwind and Paper & Co over 1200 euros, dated "
        "2026-01-31. Note: Say who pays."
    )
    paths = [event.node_info.path.rpartition("/")[2] for event in (*first, *wish, *last)]
    assert paths.count("find_amounts@1") == 1 and "summarize@2" in paths


def answer_request(events: list[Event], answer: str) -> types.Content:
    """Answer the request that a workflow stopped at."""
    call = events[-1].get_function_calls()[0]
    response = types.FunctionResponse(id=call.id, name=call.name, response={"result": answer})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


async def test_event_planner_lets_two_helpers_talk_with_the_host() -> None:
    menu = {"courses": ["Soup", "Cake"], "without": ["nuts"]}
    room = {"name": "library", "price": 120}
    models = {
        "event_planner": ScriptedModel(
            [
                call("menu", request="A dinner"),
                call("room", request="A dinner"),
                call("invitation", request="Library, soup and cake"),
                "All is planned.",
            ]
        ),
        "menu": ScriptedModel(["Any allergies?", call("finish_task", **menu)]),
        "room": ScriptedModel(
            [
                "How many guests?",
                call("find_rooms", guests=12),
                "The library?",
                call("finish_task", **room),
            ]
        ),
        "invitation": ScriptedModel(["Come and dine."]),
    }
    with example("event_planner") as module:
        put_models(module.root_agent, by_name(**models))
        talk = Conversation(module.root_agent)
        said = []
        for text in ("Plan a dinner", "Nuts", "Twelve", "Yes"):
            await talk.say(text)
            said.append(talk.text)
    assert said == ["Any allergies?", "How many guests?", "The library?", "All is planned."]
    assert (await talk.session()).state == {"menu": menu, "room": room}
    assert models["invitation"].requests[0].texts == ["Library, soup and cake"]
    assert "Nuts" not in models["room"].requests[-1].texts
