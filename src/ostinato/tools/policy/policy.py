"""Policy: rules about tool calls, compiled, and the decision that they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator

from .rule import STRICTNESS, Rule, Verdict, fits, fits_nothing
from .rule_table import RuleTable
from .tool_request import ToolRequest

_CACHED = 10_000  # tools, agents and sources whose rules are remembered
_CACHED_TABLES = 200  # sets of rules that are kept compiled


class PolicyDecision(NamedTuple):
    """What the rules say about a call, before grants and limits.

    Attributes:
      verdict: the strictest verdict of the rules that fit; the default if none fits.
      rule: the first rule with that verdict; None for the default.
      rules: all rules with that verdict that fit, with None for the default.
      limits: the rules whose limits the call has to keep.
    """

    verdict: Verdict
    rule: Rule | None = None
    rules: Sequence[Rule | None] = (None,)
    limits: Sequence[Rule] = ()


class Policy(BaseModel):
    """Rules about tool calls.

    The strictest verdict of all rules that fit a call decides, deny before ask before allow; if
    none fits, the default does. The order of the rules does not matter.

    Attributes:
      rules: the rules.
      default: the verdict on a call that no rule fits.

    Raises:
      ValidationError: a rule cannot work, two have one id, or two contradict each other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    rules: tuple[Rule, ...] = ()
    default: Verdict = "allow"
    _cache: dict[tuple[str, str, str], RuleTable] = PrivateAttr(
        default_factory=dict[tuple[str, str, str], RuleTable]
    )
    _tables: dict[tuple[int, ...], RuleTable] = PrivateAttr(
        default_factory=dict[tuple[int, ...], RuleTable]
    )

    if TYPE_CHECKING:  # what pydantic takes, for type checkers

        def __init__(self, *, rules: Sequence[Rule] = ..., default: Verdict = ...) -> None: ...

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for _, _, problem in find_conflicts(self.rules):
            raise ValueError(problem)
        return self

    def with_rules(self, *rules: Rule) -> Policy:
        """Return a policy with further rules, which can only make it stricter or fill gaps.

        Raises:
          ValidationError: a rule contradicts another one.
        """
        return Policy(rules=(*self.rules, *rules), default=self.default)

    @property
    def needs_ledger(self) -> bool:
        """Whether rules have limits or grants, which a store has to keep."""
        return any(rule.limit is not None or rule.grants for rule in self.rules)

    def decide(self, request: ToolRequest) -> PolicyDecision:
        """Return what the rules say about a call."""
        found, limits = self._find_table(request).find_rules(request)
        if not found:
            return PolicyDecision(self.default, None, (None,), limits)
        strictest = max([STRICTNESS[rule.verdict] for rule in found])
        rules = [rule for rule in found if STRICTNESS[rule.verdict] == strictest]
        return PolicyDecision(rules[0].verdict, rules[0], rules, limits)

    def find_rules(self, request: ToolRequest) -> list[Rule]:
        """Return the rules that fit a call, whatever their verdict, and those that limit it."""
        found, limits = self._find_table(request).find_rules(request)
        return list({rule.id: rule for rule in (*found, *limits)}.values())

    def find_pointers(self, request: ToolRequest) -> frozenset[str]:
        """Return the arguments that rules about a call's tool look at, whether they fit or not."""
        return self._find_table(request).pointers

    def find_limits(self, tool: str) -> list[Rule]:
        """Return the rules with limits that may have counted a call of a tool, whatever its
        arguments were."""
        return [rule for rule in self.rules if rule.limit is not None and fits(rule.tool, tool)]

    def _find_table(self, request: ToolRequest) -> RuleTable:
        """Return the rules for an agent's tool, remembered by both names and the source."""
        key = (request.tool, request.agent, request.source)
        table = self._cache.get(key)
        if table is None:
            places = tuple(
                place
                for place, rule in enumerate(self.rules)
                if fits(rule.tool, request.tool)
                and fits(rule.agent, request.agent)
                and fits(rule.source, request.source)
            )
            if len(self._cache) >= _CACHED or len(self._tables) >= _CACHED_TABLES:
                self._cache.clear()  # a model may make up names
                self._tables.clear()
            table = self._tables.get(places)
            if table is None:
                table = self._tables[places] = RuleTable([self.rules[at] for at in places])
            self._cache[key] = table
        return table


def join_decisions(decisions: Sequence[PolicyDecision]) -> PolicyDecision:
    """Return the strictest of several policies' decisions, with the limits of all."""
    if len(decisions) == 1:
        return decisions[0]
    strictest = max(decisions, key=lambda one: STRICTNESS[one.verdict])
    same = [one for one in decisions if one.verdict == strictest.verdict]
    rules = [rule for one in same for rule in one.rules]
    limits = [rule for one in decisions for rule in one.limits]
    first = next((rule for rule in rules if rule is not None), None)
    return PolicyDecision(strictest.verdict, first, rules, limits)


def order_limits(limits: Sequence[Rule]) -> Sequence[Rule]:
    """Return rules with limits, those first whose limits deny: the strictest limit decides."""
    return limits if len(limits) < 2 else sorted(limits, key=asks_over)


def asks_over(rule: Rule) -> bool:
    """Return whether a person is asked about a call that exceeds the rule's limit."""
    return rule.limit is not None and rule.limit.over == "ask"


Field = Literal["id", "verdict"]


def find_conflicts(rules: Sequence[Rule]) -> list[tuple[int, Field, str]]:
    """Return rules that cannot stand beside each other: index, field and problem of the later one.

    Two rules conflict if they have one id, if they fit the same calls with different verdicts, or
    if one can never decide because a stricter one without conditions covers all its calls.
    """
    found: list[tuple[int, Field, str]] = []
    ids: dict[str, int] = {}
    by_scope: dict[str, list[Rule]] = {}
    scopes = [rule.model_dump_json(include={*_SCOPE, "args", "state"}) for rule in rules]
    wide_ones = [index for index, rule in enumerate(rules) if not rule.args and not rule.state]
    for index, rule in enumerate(rules):
        if ids.setdefault(rule.id, index) != index:
            found.append((index, "id", f"two rules have the id {rule.id!r}; rename one"))
            continue
        others = by_scope.setdefault(scopes[index], [])
        other = next((one for one in others if _hides(one, rule) or _hides(rule, one)), None)
        others.append(rule)
        if other is not None:
            problem = (
                f"rule {rule.id!r} says {rule.verdict}, and rule {other.id!r} says {other.verdict} "
                "about the same calls; keep one"
            )
            found.append((index, "verdict", problem))
            continue
        wide = next(
            (
                rules[at]
                for at in wide_ones
                if scopes[at] != scopes[index]
                and _hides(rules[at], rule)
                and _covers(rules[at], rule)
            ),
            None,
        )
        if wide is not None:
            problem = (
                f"rule {rule.id!r} says {rule.verdict}, but never decides: rule {wide.id!r} "
                f"says {wide.verdict} about all its calls, and the stricter verdict wins"
            )
            found.append((index, "verdict", problem))
    return found


def find_idle_rules(rules: Sequence[Rule]) -> list[tuple[int, str, str]]:
    """Return rules that are about no call: index, field and problem.

    A file must not have them; in a program, a list of tools may well be empty.
    """
    return [
        (index, name, f"the patterns of rule {rule.id!r} fit nothing: they take out all")
        for index, rule in enumerate(rules)
        for name in _SCOPE
        if fits_nothing(getattr(rule, name))
    ]


def _hides(strict: Rule, other: Rule) -> bool:
    """Return whether one rule decides all calls that fit both; a limit counts what is approved."""
    is_stricter = STRICTNESS[strict.verdict] > STRICTNESS[other.verdict]
    return is_stricter and (other.limit is None or strict.verdict == "deny")


_SCOPE = ("agent", "tool", "source", "user")


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Return whether one rule's patterns surely fit whatever the other's fit."""
    for name in _SCOPE:
        outer: tuple[str, ...] = getattr(wide, name)
        inner: tuple[str, ...] = getattr(narrow, name)
        if outer in (("*",), inner):
            continue
        plain = [one for one in inner if not one.startswith("!")]
        if not plain or any(set(one) & set("*?[") for one in plain):
            return False
        if not all(fits(outer, one) for one in plain):
            return False
    return True
