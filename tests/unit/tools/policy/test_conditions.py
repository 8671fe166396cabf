"""Conditions on arguments: what they hold for, and what counts against a call in doubt."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.tools.policy import Condition, Policy, Rule, ToolRequest
from ostinato.tools.policy.conditions import select_values, split_pointer


@pytest.mark.parametrize(
    ("fields", "met", "unmet"),
    [
        ({"equals": "EUR"}, "EUR", "USD"),
        ({"equals": None}, None, 0),
        ({"not_equals": "EUR"}, "USD", "EUR"),
        ({"in": ["a", "b"]}, "b", "c"),
        ({"not_in": ["a", "b"]}, "c", "a"),
        ({"gt": 100}, 100.5, 100),
        ({"gte": 100, "lt": 200}, "100", 200),
        ({"lte": 5}, 5, "5.01"),
        ({"gt": 2**53}, 2**53 + 1, 2**53),
        ({"gt": 2**53}, str(2**53 + 1), str(2**53)),
        ({"lte": 2**53 + 1}, 2**53 + 1, 2**53 + 2),
        ({"lt": 10**99}, 10**99 - 1, 10**99),
        ({"gte": 0.1, "lte": 0.1}, "0.1", "0.10000000000000001"),
        ({"lt": 0.3}, Decimal("0.29999999999999999"), Decimal("0.3")),
        ({"equals": 2**53 + 1}, 2**53 + 1, 2**53),
        ({"in": [2**53, 2**53 + 1]}, 2**53 + 1, 2**53 + 2),
        ({"like": "/tmp/*"}, "/tmp/a/b", "/etc/passwd"),
        ({"not_like": "*.internal"}, "example.org", "db.internal"),
        ({"contains": ".."}, "a/../b", "a/b"),
        ({"contains": 3}, [1, 3], [1]),
        ({"exists": True}, "x", ...),
        ({"exists": False}, ..., "x"),
    ],
)
def test_operators(fields: dict[str, Any], met: Any, unmet: Any) -> None:
    condition = Condition.model_validate(fields)
    for restricts in (True, False):
        assert condition.is_met([] if met is ... else [met], restricts=restricts)
        assert not condition.is_met([] if unmet is ... else [unmet], restricts=restricts)


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"gt": 100}, "a lot"),
        ({"gt": 100}, True),
        ({"gt": 100}, float("nan")),
        ({"gt": 100}, [500]),
        ({"lt": 100}, "9" * 5000),
        ({"equals": 100}, "100.0"),
        ({"equals": "100"}, 100),
        ({"equals": "100"}, 100.0),
        ({"equals": 2**60 + 1}, str(2**60 + 1)),
        ({"equals": 2**60 + 1}, f" {2**60 + 1}.0"),
        ({"equals": str(2**60 + 1)}, 2**60 + 1),
        ({"equals": 10**99}, str(10**99)),
        ({"gt": 100}, "1e400"),
        ({"lt": 100}, "1e400"),
        ({"gt": 0}, "1e-400"),
        ({"lt": 100}, float("inf")),
        ({"equals": True}, "yes"),
        ({"equals": True}, 1),
        ({"not_equals": "EUR"}, ["EUR"]),
        ({"in": [1, 2]}, "2"),
        ({"like": "a*"}, 5),
        ({"like": "a*"}, "a" * 200_000),
        ({"contains": "x"}, {"x": 1}),
    ],
)
def test_what_cannot_be_said_counts_against_the_call(fields: dict[str, Any], value: Any) -> None:
    condition = Condition.model_validate(fields)
    assert condition.is_met([value], restricts=True)
    assert not condition.is_met([value], restricts=False)


def test_a_missing_value_meets_no_condition_but_a_negation_in_a_rule_that_restricts() -> None:
    assert not Condition(gt=1).is_met([], restricts=True)
    assert Condition(not_in=("EUR",)).is_met([], restricts=True)
    assert not Condition(not_in=("EUR",)).is_met([], restricts=False)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"gt": "100"},
        {"gt": True},
        {"gt": 10, "lt": 5},
        {"gt": 5, "lte": 5},
        {"equals": 3, "gt": 5},
        {"equals": "a", "in": ["b"]},
        {"in": []},
        {"in": "EUR"},
        {"exists": False, "equals": 1},
        {"exists": 1},
        {"gt": float("inf")},
        {"gt": float("nan")},
        {"gt": 2**53 + 1, "lt": 2**53 + 1},
        {"gt": 10**99, "lt": 10**99},
        {"near": 5},
        {"equals": {"a": 1}},
    ],
)
def test_conditions_that_cannot_work_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate(fields)


def test_pointers() -> None:
    data = {"to": [{"mail": "a"}, {"mail": "b"}], "a/b": 1, "~": 2, "": 3}
    assert select_values(data, split_pointer("/to/1/mail")) == ["b"]
    assert select_values(data, split_pointer("/to/*/mail")) == ["a", "b"]
    assert select_values(data, split_pointer("/a~1b")) == [1]
    assert select_values(data, split_pointer("/~0")) == [2]
    assert select_values(data, split_pointer("/")) == [3]
    for gone in ("/to/2/mail", "/to/99999999999999999999", "/nothing/here"):
        assert select_values(data, split_pointer(gone)) == []
    for wrong in ("to", "", "/a~2", "/a~"):
        with pytest.raises(ValueError, match="no JSON pointer"):
            split_pointer(wrong)


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ({"pay": '{"amount": 500}'}, "/pay/amount/value"),
        ({"pay": 5}, "/pay/amount"),
        ({"pay": True}, "/pay/amount/value"),
        ({"pay": [{"amount": 500}]}, "/pay/amount"),
        ({"pay": []}, "/pay/-1"),
        ({"pay": {"amount": 500}}, "/pay/*/amount"),
        ({"pay": {"first": {"amount": 500}}}, "/pay/*/amount"),
        ({"pay": {"first": 500}}, "/pay/*"),
        ({"pay": {"*": 5}}, "/pay/*"),
        ({"pay": {"amount": 500}}, "/pay/0/amount"),
        ({"pay": [[{"amount": 500}]]}, "/pay/*/amount"),
        ({"pay": [5]}, "/pay/0/amount"),
    ],
)
def test_what_is_below_a_value_of_another_kind_cannot_be_said(data: Any, pointer: str) -> None:
    (value,) = select_values(data, split_pointer(pointer))
    for condition in (Condition(gt=100), Condition(lt=9), Condition(equals=5), Condition(like="*")):
        assert condition.is_met([value], restricts=True)
        assert not condition.is_met([value], restricts=False)


def test_nothing_is_below_null_and_items_that_are_no_such_keys() -> None:
    for data, pointer in (
        ({"pay": None}, "/pay/amount"),
        ({"pay": [None]}, "/pay/*/amount"),
        ({"pay": []}, "/pay/*"),
        ({"pay": {}}, "/pay/amount"),
        ({"pay": {"0": {}}}, "/pay/0/amount"),
    ):
        assert select_values(data, split_pointer(pointer)) == []


def test_one_bad_item_is_enough_to_deny_and_all_have_to_be_good_to_allow() -> None:
    inside = {"/to/*": {"like": "*@example.org"}}
    outside = {"/to/*": {"not_like": "*@example.org"}}
    mixed = ToolRequest("send", {"to": ["a@example.org", "b@evil.test"]})
    good = ToolRequest("send", {"to": ["a@example.org"]})
    deny = Policy(rules=(Rule(id="r", verdict="deny", args=outside),))  # type: ignore[arg-type]
    allow = Policy(
        rules=(Rule(id="r", verdict="allow", args=inside),),  # type: ignore[arg-type]
        default="deny",
    )
    assert [deny.decide(one).verdict for one in (mixed, good)] == ["deny", "allow"]
    assert [allow.decide(one).verdict for one in (mixed, good)] == ["deny", "allow"]


@pytest.mark.parametrize("verdict", ["deny", "ask", "allow"])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_rule_on_a_boolean_does_not_fit_the_other_one(verdict: Any, wanted: bool) -> None:
    for condition in (wanted, {"equals": wanted}, {"in": [wanted]}):
        rule = Rule(id="one", verdict=verdict, tool="go", args={"/live": condition})  # type: ignore[arg-type]
        (operators,) = rule.args.values()
        assert operators.is_met([wanted], restricts=verdict != "allow")
        assert not operators.is_met([not wanted], restricts=verdict != "allow")
