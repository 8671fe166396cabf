"""Whatever it is asked, the offline model answers quickly, and calls only what is declared."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tries import tries
from tests.unit.models.offline.asking import function, request, respond, returned

WORDS = st.sampled_from(
    "book Book flight Rome Berlin to from in on for and Friday 12 $40 4.5 2026-01-02 a@b.org x.csv"
    ' "quoted A-17 the what is not true red EUR hello ? . , ( ) - \u00e4\u00df 3*(4 my'.split()
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=14).map(" ".join))
WEATHER = function("get_weather", "Return the weather of a city.", city={"type": "string"})
FLIGHTS = function(
    "search_flights",
    "Find flights.",
    origin={"type": "string"},
    day={"type": "string"},
    nights={"type": "integer"},
    order_id={"type": "string"},
)
KINDS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"enum": ["red", "blue"]},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "object"}},
        {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
        {"anyOf": [{"type": "number"}, {"type": "null"}]},
        {},
    ]
)
NAMES = st.sampled_from(
    "city origin to day amount name order_id query currency time flags email reason x".split()
)
PARAMS = st.dictionaries(NAMES, KINDS, max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@settings(max_examples=tries(60))
@given(TEXTS, st.lists(PARAMS, max_size=3), st.dictionaries(NAMES, JSON, max_size=3), PARAMS)
def test_every_request_is_answered(
    text: str, tools: list[dict[str, Any]], result: dict[str, Any], schema: dict[str, Any]
) -> None:
    names = ["book_flight", "get_weather", "list_orders"]
    declared = [
        function(name, "What it does.", **params)
        for name, params in zip(names, tools, strict=False)
    ]
    wanted = {"type": "object", "properties": schema, "required": list(schema)} if schema else None
    for contents in ([text], [text, returned("other", result)]):
        asked = request(*contents, tools=declared, response_json_schema=wanted)
        answer = respond(asked, stream=True)[-1]
        assert answer.content is not None
        assert answer.content.parts
        for call in answer.get_function_calls():
            tool = next(tool for tool in declared if tool.name == call.name)
            known = tool.parameters_json_schema or {"properties": {}, "required": []}
            assert set(call.args or {}) <= set(known["properties"])
            assert set(known["required"]) <= set(call.args or {})


def test_long_texts_are_answered_quickly() -> None:
    start = time.process_time()
    for unit in ("1", "a", "A-", "a.b", "A b ", "(1+", "@", '"', "and "):
        respond(request(unit * 100_000, tools=[WEATHER, FLIGHTS]))
    assert time.process_time() - start < 5
