"""All rules at once decide as the rules one by one do, whatever the values and their types."""

from __future__ import annotations

import math
from collections import UserDict
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ostinato.tools.policy import Condition, Policy, PolicyDecision, Rule, ToolRequest
from ostinato.tools.policy.conditions import select_values, split_pointer
from ostinato.tools.policy.rule import STRICTNESS, fits


class Color(StrEnum):
    RED = "red"


TEXTS = [
    str(2**53),
    str(2**53 + 1),
    "0.1",
    "1e400",
    "9" * 70,
    "",
    "a",
    "abc",
    "red",
    "1",
    " 1 ",
    "1.0",
    "1e0",
    "true",
    "nan",
    "a/b",
    "x\ny",
    "none",
]
NUMBERS = [
    2**53,
    0.1,
    int("9" * 70),
    0,
    1,
    -1,
    2,
    1.0,
    0.5,
    -0.0,
    2**53 + 1,
    10**400,
    1e300,
    math.nan,
    math.inf,
]
SCALARS = st.sampled_from([*TEXTS, *NUMBERS, True, False, None])
BOUNDS = st.sampled_from([-1, 0, 0.1, 0.5, 1, 2, 1e9, 2**53, 2**53 + 1, 10**400])
PATTERNS = st.sampled_from(
    ["*", "", "a*", "*c", "*b*", "abc", "a?c", "[a-m]*", "**", "1*", "*\n*", "[", "*a*c*"]
)
VALUES = st.recursive(
    st.one_of(
        SCALARS, st.sampled_from([Color.RED, Decimal(1), (1, "a"), "9" * 100, "a" * 100_001])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("bc"), inner, max_size=2)
    ),
    max_leaves=4,
)
OPERATORS: dict[str, st.SearchStrategy[Any]] = {
    "equals": SCALARS,
    "not_equals": SCALARS,
    "in": st.lists(SCALARS, min_size=1, max_size=3),
    "not_in": st.lists(SCALARS, min_size=1, max_size=3),
    "gt": BOUNDS,
    "gte": BOUNDS,
    "lt": BOUNDS,
    "lte": BOUNDS,
    "like": PATTERNS,
    "not_like": PATTERNS,
    "contains": SCALARS,
    "exists": st.booleans(),
}
CONDITIONS = st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=2).flatmap(
    lambda names: st.fixed_dictionaries({name: OPERATORS[name] for name in names})
)
POINTERS = st.sampled_from(["/a", "/b", "/a/b", "/a/*", "/a/*/c", "/b/0"])
FIELDS = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["allow", "ask", "deny"])},
    optional={
        "args": st.dictionaries(POINTERS, CONDITIONS, max_size=2),
        "state": st.dictionaries(POINTERS, CONDITIONS, max_size=1),
        "user": st.sampled_from(["ann", "a*", ["*", "!ann"]]),
        "tool": st.sampled_from(["pay", "p*", "read"]),
        "limit": st.just({"count": 1, "per": "hour"}),
    },
)
DATA = st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2)


def make_policy(drawn: list[dict[str, Any]]) -> Policy:
    """The rules of those drawn that can stand beside each other."""
    made = Policy(default="allow")
    for number, fields in enumerate(drawn):
        try:
            made = made.with_rules(Rule.model_validate({"id": f"r{number}", **fields}))
        except ValidationError:
            continue
    return made


def does_fit(rule: Rule, request: ToolRequest, *, restricts: bool) -> bool:
    args = {**request.defaults(), **request.args}
    read = request.read(set(args)) if request.read is not None else {}
    return fits(rule.user, request.user) and all(
        is_met(condition, pointer, data, form, restricts=restricts)
        for data, form, conditions in ((args, read, rule.args), (request.state, {}, rule.state))
        for pointer, condition in conditions.items()
    )


def is_met(condition: Condition, pointer: str, data: Any, read: Any, *, restricts: bool) -> bool:
    """Whether a value meets a condition as it is given and as the tool reads it."""
    steps = split_pointer(pointer)
    given, values = select_values(data, steps), select_values(read, steps)
    if not given or steps[0] not in read:
        return condition.is_met([*given, *values], restricts=restricts)
    answers = [condition.is_met(one, restricts=restricts) for one in (given, values)]
    return any(answers) if restricts else all(answers)


def decide_one_by_one(policy: Policy, request: ToolRequest) -> PolicyDecision:
    known = [rule for rule in policy.rules if fits(rule.tool, request.tool)]
    found = [rule for rule in known if does_fit(rule, request, restricts=rule.verdict != "allow")]
    limits = [one for one in known if one.limit and does_fit(one, request, restricts=True)]
    if not found:
        return PolicyDecision(policy.default, None, (None,), limits)
    strictest = max(found, key=lambda rule: STRICTNESS[rule.verdict]).verdict
    rules = [rule for rule in found if rule.verdict == strictest]
    return PolicyDecision(strictest, rules[0], rules, limits)


def name_rules(decision: PolicyDecision) -> tuple[Any, ...]:
    return (
        decision.verdict,
        decision.rule and decision.rule.id,
        [rule and rule.id for rule in decision.rules],
        [rule.id for rule in decision.limits],
    )


@settings(max_examples=100, deadline=None)
@given(
    drawn=st.lists(FIELDS, max_size=8),
    calls=st.lists(st.tuples(DATA, DATA, DATA, DATA), min_size=1, max_size=4),
    user=st.sampled_from(["ann", "bob", ""]),
)
@pytest.mark.long
def test_all_rules_at_once_decide_as_one_by_one(
    drawn: list[dict[str, Any]], calls: list[tuple[Any, Any, Any, Any]], user: str
) -> None:
    policy = make_policy(drawn)
    for args, state, defaults, read in calls:
        request = ToolRequest(
            "pay",
            args,
            user=user,
            state=state,
            defaults=lambda d=defaults: d,
            read=lambda names, form=read: form,
        )
        decision = policy.decide(request)
        assert name_rules(decision) == name_rules(decide_one_by_one(policy, request))
        fitting = {rule.id for rule in policy.find_rules(request)}
        assert fitting >= {rule.id for rule in (*decision.rules, *decision.limits) if rule}


@pytest.mark.parametrize("wanted", [1, "1", True, 1.0, None, "true"])
@pytest.mark.parametrize("value", [1, "1", True, 1.0, None, "true", [1], {"a": 1}])
@pytest.mark.parametrize("operator", ["equals", "not_equals", "in", "not_in"])
@pytest.mark.parametrize("verdict", ["deny", "allow"])
def test_types_are_never_mixed(wanted: Any, value: Any, operator: str, verdict: Any) -> None:
    fields = {operator: [wanted] if "in" in operator else wanted}
    rules = [Rule(id="r", verdict=verdict, args={"/a": fields})]
    policy = Policy(rules=rules, default="ask")
    for _ in range(2):  # the second decision may remember the first
        request = ToolRequest("pay", {"a": value})
        assert name_rules(policy.decide(request)) == name_rules(decide_one_by_one(policy, request))


def test_state_and_defaults_are_read_only_where_a_rule_needs_them() -> None:
    rules = [
        Rule(id="r", verdict="deny", args={"/a": 1}, state={"/a": 1}),
    ]
    read: list[str] = []
    policy = Policy(rules=rules)

    def call(args: dict[str, Any]) -> ToolRequest:
        return ToolRequest(
            "pay",
            args,
            state=lambda: read.append("state") or UserDict(a=1),
            defaults=lambda: read.append("defaults") or {"a": 1},
        )

    verdicts = [policy.decide(call(args)).verdict for args in ({"a": 2}, {"a": 1}, {})]
    assert verdicts == ["allow", "deny", "deny"]
    assert read == ["state", "defaults", "state"]


def test_made_up_names_and_users_are_not_remembered_for_ever() -> None:
    rules = [
        Rule(id=f"r{n}", verdict="deny", tool=f"*{n}*", user=["*", "!eve"], args={"/a": n})
        for n in range(10)
    ]
    policy = Policy(rules=rules)
    for n in range(1500):
        call = ToolRequest(f"tool_{n}", {"a": n % 10}, user=f"u{n}")
        assert (policy.decide(call).verdict == "deny") is (str(n % 10) in str(n))
    sizes = [len(policy._tables), *(len(one._by_user) for one in policy._tables.values())]  # pyright: ignore[reportPrivateUsage]
    assert max(sizes) <= 1000
