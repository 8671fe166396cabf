"""Bounds, formats and patterns of the forms that people fill in."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.tools.json_bounds import check_bounds
from ostinato.tools.json_fit import check_schema


@pytest.mark.parametrize(
    ("schema", "fitting", "unfit"),
    [
        ({"minimum": 1}, 1, 0),
        ({"maximum": 5}, 5, 5.1),
        ({"exclusiveMinimum": 1}, 2, 1),
        ({"exclusiveMaximum": 5}, 4, 5),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 2}, "ab", "abc"),
        ({"minItems": 1}, ["a"], []),
        ({"maxItems": 1}, ["a"], ["a", "b"]),
        ({"format": "date"}, "2026-11-24", "20261124"),
        ({"format": "date"}, "2024-02-29", "2026-02-29"),
        ({"format": "date-time"}, "2026-11-24T10:00:00Z", "2026-11-24"),
        ({"format": "email"}, "a@b.example", "@b.example"),
        ({"format": "uri"}, "https://a.example", "http://["),
        ({"pattern": "^[A-Z]{2}-\\d{4}$"}, "AB-1234", "ab-1234"),
        ({"pattern": "^(?:red|blue)$"}, "red", "green"),
        ({"pattern": "^[\\w.+-]+@[\\w-]+[.]example$"}, "a@b.example", "a b@c.example"),
    ],
)
def test_a_value_keeps_to_its_schema(schema: dict[str, Any], fitting: Any, unfit: Any):
    check_bounds(fitting, schema, "it")
    with pytest.raises(ValueError, match=r"^it"):
        check_bounds(unfit, schema, "it")


_LEAST = {"$defs": {"least": {"minimum": 1}}}


@pytest.mark.parametrize(
    ("schema", "fitting", "unfit"),
    [
        ({"items": {"maximum": 5}}, [5], [5, 6]),
        ({"properties": {"a": {"properties": {"b": {"minimum": 1}}}}}, {"a": {}}, {"a": {"b": 0}}),
        ({"properties": {"a": {"$ref": "#/$defs/least"}}, **_LEAST}, {"a": 1}, {"a": 0}),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, None, 0),
        ({"additionalProperties": {"maxLength": 1}}, {"a": "b"}, {"a": "bc"}),
    ],
)
def test_nested_values_keep_to_their_schemas(schema: dict[str, Any], fitting: Any, unfit: Any):
    check_schema(fitting, schema, "it")
    with pytest.raises(ValueError, match=r"^it"):
        check_schema(unfit, schema, "it")


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": "1", "maximum": None, "multipleOf": 0},
        {"multipleOf": 10**400},
        {"items": True, "properties": ["a"]},
        {"format": ["date"], "pattern": 7},
    ],
)
@pytest.mark.parametrize("value", [0, 1.5, True, None, "x", ["x"], {"a": 1}])
def test_what_makes_no_sense_in_a_schema_is_ignored(schema: dict[str, Any], value: Any):
    check_bounds(value, schema, "it")


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(?:a|a)*$",
        "^(a|a){40}$",
        "(?=b)b",
        "^(a)\\1$",
        "a*a*a*a*a*a*b",
        "(a|a)" * 30 + "b",
        "[](a+)+$",
        "[[a",
        "a{99999999999999}",
        "(",
        "b" * 1_001,
    ],
)
def test_a_pattern_that_could_take_long_or_is_none_is_left_to_its_author(pattern: str):
    check_bounds("a" * 60 + "!", {"pattern": pattern}, "it")
