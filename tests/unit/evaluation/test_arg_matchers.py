"""Matchers in expected arguments."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.evaluation.arg_matchers import ArgMatch

FITS = [
    ({"a": 1}, {"a": 1}),
    ({"a": 1.0}, {"a": 1}),
    ("Rome", {"$regex": "^R"}),
    ({"city": "Rome, Italy"}, {"city": {"$regex": "Rome"}}),
    (3.1416, {"$approx": 3.14, "tolerance": 0.01}),
    (2, {"$approx": 2}),
    ("b", {"$one_of": ["a", "b"]}),
    (7, {"$one_of": [{"$approx": 6}, {"$approx": 7}]}),
    ({"a": 1, "b": 2, "c": 3}, {"$subset": {"a": 1, "c": {"$any": True}}}),
    ({"a": 1, "time": "now"}, {"a": 1, "$ignore": ["time"]}),
    ({"a": 1}, {"a": 1, "$ignore": ["time"]}),
    (" ROME ", {"$ignore_case": "rome"}),
    ([1, "x"], [1, {"$regex": "x"}]),
    ({"$regex": "x"}, {"$equal": {"$regex": "x"}}),
    (None, {"$any": True}),
]
DIFFER = [
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1, "b": 2}, {"a": 1}),
    ("rome", "Rome"),
    (5, {"$regex": "5"}),
    ("Oslo", {"$regex": "^R"}),
    (3.2, {"$approx": 3.14, "tolerance": 0.01}),
    (True, {"$approx": 1}),
    ("c", {"$one_of": ["a", "b"]}),
    ({"a": 2}, {"$subset": {"a": 1}}),
    ({}, {"$subset": {"a": {"$any": True}}}),
    ([1], [1, 2]),
    ("x", ["x"]),
    ({"b": 1, "time": 2}, {"a": 1, "$ignore": ["time"]}),
]
WRONG = [
    ({"$regexp": "x"}, r"Did you mean '\$regex'"),
    ({"$regex": "("}, "is not a regular expression"),
    ({"$one_of": "ab"}, "takes a list"),
    ({"$any": False}, "takes true, not False"),
    ({"$any": 1}, "takes true, not 1"),
    ({"$approx": "x"}, "takes a number"),
    ({"$approx": 1, "tolerance": -1}, "at least 0"),
    ({"$approx": 1, "tolerance": math.inf}, "may be infinite or NaN"),
    ({"$approx": 1, "tolerance": math.nan}, "may be infinite or NaN"),
    ({"$approx": math.nan}, "may be infinite or NaN"),
    ({"$approx": math.inf}, "may be infinite or NaN"),
    ({"$subset": [1]}, "takes an object"),
    ({"$regex": "x", "$any": True}, "several matchers"),
    ({"$regex": "x", "city": "y"}, "other members"),
]


@pytest.mark.parametrize(("actual", "expected"), FITS)
def test_a_value_fits(actual: Any, expected: Any) -> None:
    assert ArgMatch().matches(actual, expected)


@pytest.mark.parametrize(("actual", "expected"), DIFFER)
def test_a_value_does_not_fit(actual: Any, expected: Any) -> None:
    assert not ArgMatch().matches(actual, expected)


@pytest.mark.parametrize(("expected", "message"), WRONG)
def test_a_wrong_matcher_is_refused(expected: Any, message: str) -> None:
    with pytest.raises(InputValidationError, match=message):
        ArgMatch().matches(1, expected)


def test_a_judge_is_asked_only_where_the_rest_fits() -> None:
    match = ArgMatch()
    assert match.matches({"a": 1, "b": "x"}, {"a": 1, "b": {"$judge": "a letter"}})
    assert match.questions == [("a letter", "x")]
    match = ArgMatch()
    assert match.matches("x", {"$one_of": [[{"$judge": "a list"}], "x"]})
    assert match.questions == []
