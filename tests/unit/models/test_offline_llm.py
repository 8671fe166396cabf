"""The offline model as a whole: answers, forms, code, streaming, and that it keeps no state."""

import copy
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.models.offline_llm import OfflineLlm
from tests.unit.models.offline.asking import (
    INT,
    STR,
    ask,
    ask_json,
    called,
    function,
    overheard,
    request,
    respond,
    returned,
    user,
)

WEATHER = function("get_weather", "Return the current weather of a city.", city=STR)


class Rating(BaseModel):
    city: str
    score: int
    comment: str | None = None
    tags: list[str] = []


@pytest.mark.parametrize(
    ("message", "start"),
    [
        ("hello", "Hello! I can help with: Return the current weather of a city."),
        ("", "I got no text to work with. I can help with"),
        ("Thank you!", "You're welcome."),
    ],
)
def test_small_talk(message: str, start: str) -> None:
    answer = ask(message, tools=[WEATHER])
    assert isinstance(answer, str)
    assert answer.startswith(start)


def test_a_request_without_contents_is_answered() -> None:
    assert ask() == "I got no text to work with. What can I do for you?"


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"result": "Sunny and warm"}, "Sunny and warm."),
        ({"status": "success", "report": "It is sunny."}, "It is sunny."),
        ({"result": None}, "Get weather: done."),
        ({"result": 7}, "Get weather: 7."),
        ({"sky": "clear", "wind": {"knots": 3}}, "Get weather: sky clear, wind knots 3."),
        ({"result": []}, "Get weather: nothing found."),
        (
            {"days": [{"day": "Friday", "rain": True}, {"day": "Saturday", "rain": False}]},
            "Found 2 days: (1) day Friday, rain yes; (2) day Saturday, rain no.",
        ),
        ({"error": "no such city"}, "Get weather did not work: no such city."),
    ],
)
def test_answers_are_sentences_made_of_results(result: dict[str, Any], answer: str) -> None:
    turn = ["weather in Rome", called("get_weather", city="Rome"), returned("get_weather", result)]
    assert ask(*turn, tools=[WEATHER]) == answer  # type: ignore[arg-type]


def test_results_of_other_agents_count_where_they_said_nothing() -> None:
    heard = overheard(
        "[flights] `search_flights` tool returned result: {'result': 'Two flights.'}",
    )
    assert ask("A trip", heard) == "Two flights."
    said = overheard("[flights] said: I found two flights.")
    assert ask("A trip", heard, said) == "I found two flights."


def test_an_answer_follows_the_schema_with_empty_values() -> None:
    found = [called("rate", city="Rome"), returned("rate", {"result": "Rome is fine."})]
    expected = {"city": "Rome is fine.", "score": 0}
    assert ask_json("Rate it", *found, response_schema=Rating) == expected
    assert ask_json("Rate it", response_schema={"type": "array", "items": STR}) == []
    nested = {
        "type": "object",
        "properties": {"level": {"enum": ["low", "high"]}, "at": {"$ref": "#/$defs/At"}},
        "required": ["level", "at"],
        "$defs": {"At": {"type": "object", "properties": {"n": INT}, "required": ["n"]}},
    }
    assert ask_json("Rate it", response_json_schema=nested) == {"level": "low", "at": {"n": 0}}


def test_a_closing_call_takes_the_place_of_text() -> None:
    closing = function("set_model_response", "Give the answer.", city=STR, score=INT)
    tools = [WEATHER, closing]
    assert ask("weather in Rome", tools=tools) == [("get_weather", {"city": "Rome"})]
    turn = [
        user("weather in Rome"),
        called("get_weather", city="Rome"),
        returned("get_weather", {"report": "Sunny."}),
    ]
    assert ask(*turn, tools=tools) == [("set_model_response", {"city": "Sunny.", "score": 0})]


def test_code_is_written_over_a_file_and_its_output_told(tmp_path: Any) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("region,revenue\nnorth,10\nsouth,30\nnorth,5\n")
    instruction = f'Answer by Python code in a ```python block over "{file}".'
    answer = ask("Which region has the highest revenue?", instruction=instruction)
    assert isinstance(answer, str)
    before, _, code = answer.partition("```python\n")
    assert before == "I will compute that from the file.\n"
    run = subprocess.run(
        [sys.executable, "-c", code.removesuffix("\n```")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "revenue by region: south 30, north 15" in run.stdout
    output = user(f"```tool_output\nCode execution result:\n{run.stdout}\n\n```")
    told = ask("Which region has the highest revenue?", output, instruction=instruction)
    assert told.startswith("Here is what the numbers say.\n3 rows with region, revenue")  # type: ignore[union-attr]


def test_code_that_fails_is_told() -> None:
    output = user("```tool_output\nTraceback (most recent call last):\n  x\nKeyError: 'a'\n```")
    answer = ask("Sum it", output, instruction="Write ```python blocks.")
    assert answer == "The code failed: KeyError: 'a'"


def test_streamed_words_add_up_to_the_whole_text() -> None:
    responses = respond(request("Tell me a  joke ", tools=[WEATHER]), stream=True)
    assert len(responses) > 5
    assert all(response.partial for response in responses[:-1])
    assert not responses[-1].partial
    texts = [r.content.parts[0].text or "" for r in responses if r.content and r.content.parts]
    assert "".join(texts[:-1]) == texts[-1]


def test_calls_are_not_streamed() -> None:
    (response,) = respond(request("weather in Rome", tools=[WEATHER]), stream=True)
    assert not response.partial
    assert response.get_function_calls()[0].name == "get_weather"


def test_a_response_is_complete() -> None:
    (response,) = respond(request("weather in Rome", tools=[WEATHER]))
    assert response.finish_reason == types.FinishReason.STOP
    assert response.content is not None
    assert response.content.role == "model"


def test_the_request_is_left_as_it_is_and_answers_repeat() -> None:
    asked = request("weather in Rome and Oslo", tools=[WEATHER], instruction="Be brief.")
    before = copy.deepcopy(asked)
    first = [r.model_dump() for r in respond(asked)]
    assert asked == before
    assert [r.model_dump() for r in respond(asked)] == first


def test_its_name() -> None:
    assert OfflineLlm().model == "offline"
    assert OfflineLlm.supported_models() == ["offline"]
