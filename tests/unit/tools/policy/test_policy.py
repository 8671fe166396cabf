"""Which rule decides, and which rules cannot stand beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.tools.policy import Limit, Policy, Rule, ToolRequest
from ostinato.tools.policy.policy import find_idle_rules, join_decisions


def rule(id: str, verdict: str, **fields: Any) -> Rule:
    return Rule.model_validate({"id": id, "verdict": verdict, **fields})


def policy(*rules: Rule, default: Any = "allow") -> Policy:
    return Policy(rules=rules, default=default)


def test_the_strictest_verdict_wins_in_any_order() -> None:
    rules = [
        rule("open", "allow", tool="pay", args={"/amount": {"lt": 1000}}),
        rule("big", "ask", tool="pay", args={"/amount": {"gt": 100}}),
        rule("evil", "deny", tool="*", args={"/to": "evil"}),
    ]
    calls = [{"amount": 5}, {"amount": 500}, {"amount": 5, "to": "evil"}, {"amount": "no number"}]
    for order in (rules, rules[::-1]):
        made = policy(*order)
        decided = [made.decide(ToolRequest("pay", args)) for args in calls]
        assert [one.verdict for one in decided] == ["allow", "ask", "deny", "ask"]
        assert [one.rule.id if one.rule else "" for one in decided] == [
            "open",
            "big",
            "evil",
            "big",
        ]


def test_the_default_decides_where_no_rule_fits() -> None:
    made = policy(rule("r", "allow", tool="read_*"), default="deny")
    assert made.decide(ToolRequest("read_file", {})).verdict == "allow"
    decision = made.decide(ToolRequest("write_file", {}))
    assert (decision.verdict, decision.rule) == ("deny", None)


@pytest.mark.parametrize(
    ("fields", "call", "fits"),
    [
        ({"agent": "support"}, {"agent": "support"}, True),
        ({"agent": "support"}, {"agent": "supporter"}, False),
        ({"agent": ["a", "b*"]}, {"agent": "bc"}, True),
        ({"tool": ["*", "!read_*"]}, {"tool": "read_file"}, False),
        ({"tool": ["!read_*"]}, {"tool": "write"}, True),
        ({"tool": "Pay"}, {"tool": "pay"}, False),
        ({"source": "mcp:files/*"}, {"source": "mcp:files/delete"}, True),
        ({"source": "mcp:files/*"}, {"source": "mcp:other/delete"}, False),
        ({"source": "openapi:*/DELETE *"}, {"source": "openapi:Pets/DELETE /pets/{id}"}, True),
        ({"source": "agent:*"}, {"source": "agent:refunds"}, True),
        ({"source": "function"}, {"source": "unknown"}, False),
        ({"user": "*@example.org"}, {"user": "a@example.org"}, True),
        ({"state": {"/user:tier": "gold"}}, {"state": {"user:tier": "gold"}}, True),
        ({"state": {"/user:tier": {"not_in": ["gold"]}}}, {"state": {}}, True),
        ({"state": {"/cart/0/sku": "x"}}, {"state": {"cart": [{"sku": "x"}]}}, True),
    ],
)
def test_what_a_rule_fits(fields: dict[str, Any], call: dict[str, Any], fits: bool) -> None:
    made = policy(rule("r", "deny", **fields))
    request = ToolRequest(**{"tool": "pay", "args": {}, **call})
    assert (made.decide(request).verdict == "deny") is fits


def test_missing_arguments_count_with_their_defaults() -> None:
    made = policy(rule("r", "deny", args={"/amount": {"gt": 100}}))
    assert made.decide(ToolRequest("pay", {})).verdict == "allow"
    assert made.decide(ToolRequest("pay", {}, defaults=lambda: {"amount": 500})).verdict == "deny"
    given = ToolRequest("pay", {"amount": 5}, defaults=lambda: {"amount": 500})
    assert made.decide(given).verdict == "allow"


def test_a_limit_applies_to_calls_that_its_rule_cannot_judge() -> None:
    made = policy(
        rule("r", "allow", args={"/amount": {"lt": 9}}, limit={"count": 1, "per": "hour"})
    )
    assert len(made.decide(ToolRequest("pay", {"amount": [1]})).limits) == 1
    assert not made.decide(ToolRequest("pay", {"amount": 10})).limits


FEW = {"count": 1, "per": "hour"}


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ([rule("a", "ask"), rule("a", "deny", tool="x")], "two rules have the id 'a'"),
        ([rule("a", "ask", tool="x"), rule("b", "deny", tool="x")], "about the same calls"),
        ([rule("a", "allow", tool="x"), rule("b", "deny", tool="*")], "never decides"),
        (
            [rule("a", "deny", tool=["x", "y"]), rule("b", "ask", tool="y", args={"/n": 1})],
            "never decides",
        ),
        ([rule("a", "deny", tool="x"), rule("b", "allow", tool="x", limit=FEW)], "the same calls"),
        ([rule("b", "ask", tool="x", limit=FEW), rule("a", "deny")], "never decides"),
        ([rule("a", "deny"), rule("b", "ask", tool="x", limit=FEW)], "never decides"),
        (
            [
                rule("a", "ask", tool="x"),
                rule("b", "allow", tool="x", limit=FEW),
                rule("c", "deny", tool="x"),
            ],
            "the same calls",
        ),
    ],
)
def test_contradictions_are_refused(rules: list[Rule], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        policy(*rules)


@pytest.mark.parametrize("tool", ["*", "x"])
def test_a_limit_counts_what_a_person_approves(tool: str) -> None:
    ask = rule("a", "ask", tool=tool)
    limit = rule("b", "allow", tool="x", limit=FEW)
    for rules in ([ask, limit], [limit, ask]):
        decision = policy(*rules).decide(ToolRequest("x", {}))
        assert (decision.verdict, [one.id for one in decision.limits]) == ("ask", ["b"])


def test_rules_that_only_overlap_stand_beside_each_other() -> None:
    made = policy(
        rule("a", "deny", tool=["*", "!read_*"]),
        rule("b", "allow", tool="read_*"),
        rule("c", "ask", tool="read_secret"),
        rule("d", "deny", tool="read_secret", user="eve"),
    )
    tools = ("write", "read_a", "read_secret")
    verdicts = [made.decide(ToolRequest(tool, {}, user="ann")).verdict for tool in tools]
    assert verdicts == ["deny", "allow", "ask"]


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "maybe"},
        {"tool": ""},
        {"tool": []},
        {"source": "mpc:files"},
        {"args": {"amount": 1}},
        {"id": "a b"},
        {"grants": ["forever"], "verdict": "ask"},
        {"grants": ["session"]},
        {"same": ["/x"], "verdict": "ask"},
        {"limit": {"count": 1, "per": "fortnight"}},
        {"limit": {"count": 0, "per": "hour"}},
        {"limit": {"per": "hour"}},
        {"limit": {"sum": "/n", "per": "hour"}},
        {"limit": {"max": 5, "per": "hour"}},
        {"limit": {"count": 1, "per": "hour"}, "verdict": "deny"},
        {"message": "never seen"},
        {"tools": "x"},
        {"args": {"/a": {"like": "a*", "not_like": "*"}}},
        {"args": {"/a": {"like": "abc", "not_like": "a?c"}}},
    ],
)
def test_rules_that_cannot_work_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"id": "r", "verdict": "allow", **fields})


@pytest.mark.parametrize(
    "patterns", [["a*", "!ab*"], ["[ab]", "!a"], ["a*", "!a?"], ["*", "!x"], ["[bc]", "!*b*"], "!x"]
)
def test_patterns_that_leave_something_are_taken(patterns: Any) -> None:
    made = rule("a", "deny", tool=patterns, args={"/a": {"like": "a*", "not_like": "a?"}})
    assert find_idle_rules([made]) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"tool": ["y", "!y"]},
        {"tool": ["*", "!*"]},
        {"tool": ["y*", "!*"]},
        {"tool": "!*"},
        {"tool": ["a", "ab*", "!a*"]},
        {"agent": ["y", "!y"]},
        {"user": ["y?", "!y*"]},
        {"source": ["mcp:a/b", "!mcp:*"]},
    ],
)
def test_patterns_that_leave_nothing_are_found(fields: dict[str, Any]) -> None:
    made = [rule("a", "deny"), rule("b", "deny", **fields)]
    assert [(index, name) for index, name, _ in find_idle_rules(made)] == [(1, *fields)]
    assert policy(*made).decide(ToolRequest("x", {})).verdict == "deny"


def test_rules_are_added_and_policies_joined() -> None:
    base = policy(rule("a", "ask", tool="pay"))
    skill = Rule.allow_only("skill", ["read_*"], state={"/skill": "notes"})
    more = base.with_rules(skill)
    inside = {"skill": "notes"}
    assert more.decide(ToolRequest("pay", {}, state=inside)).verdict == "deny"
    assert more.decide(ToolRequest("pay", {})).verdict == "ask"
    assert more.decide(ToolRequest("read_it", {}, state=inside)).verdict == "allow"
    call = ToolRequest("pay", {})
    other = policy(default="deny")
    joined = join_decisions([base.decide(call), other.decide(call)])
    assert (joined.verdict, joined.rule) == ("deny", None)
    asked = join_decisions([base.decide(call), policy(default="ask").decide(call)])
    assert [one and one.id for one in asked.rules] == ["a", None]


def test_durations() -> None:
    assert Limit(count=1, per="15m").seconds == 900
    assert Limit(count=1, per="week").seconds == Limit(count=1, per="7d").seconds
