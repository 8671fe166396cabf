"""Policy: rules about tool calls, compiled, and the decision that they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator

from .conditions import Pointers, are_met, compile_pointers
from .rule import STRICTNESS, Rule, Verdict, fits

_CACHED = 10_000  # tools, agents and sources whose rules are remembered


class ToolRequest(NamedTuple):
    """A tool call as rules see it.

    Attributes:
      tool: name of the tool.
      args: the arguments.
      agent: name of the agent that calls.
      source: where the tool comes from; see `Rule.source`.
      user: id of the user.
      state: the session's state, or a function that returns it.
      defaults: what the tool takes for arguments that are missing, by name.
    """

    tool: str
    args: Mapping[str, Any]
    agent: str = ""
    source: str = "function"
    user: str = ""
    state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = {}
    defaults: Callable[[], Mapping[str, Any]] = dict


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


class _CompiledRule(NamedTuple):
    """A rule with its pointers split."""

    rule: Rule
    args: Pointers
    state: Pointers
    restricts: bool

    def fits(self, user: str, args: Any, state: Any, *, restricts: bool) -> bool:
        """Return whether a call meets the conditions on its user, arguments and state."""
        return (
            fits(self.rule.user, user)
            and are_met(self.args, args, restricts=restricts)
            and are_met(self.state, state, restricts=restricts)
        )


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
    _cache: dict[tuple[str, str, str], tuple[_CompiledRule, ...]] = PrivateAttr(
        default_factory=dict[tuple[str, str, str], tuple[_CompiledRule, ...]]
    )
    _compiled: tuple[_CompiledRule, ...] = PrivateAttr(default=())

    if TYPE_CHECKING:  # what pydantic takes, for type checkers

        def __init__(self, *, rules: Sequence[Rule] = ..., default: Verdict = ...) -> None: ...

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for _, _, problem in find_conflicts(self.rules):
            raise ValueError(problem)
        return self

    def model_post_init(self, context: Any, /) -> None:
        """Compile the rules."""
        self._compiled = tuple(
            _CompiledRule(
                rule,
                compile_pointers(rule.args),
                compile_pointers(rule.state),
                rule.verdict != "allow",
            )
            for rule in self.rules
        )

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
        found: list[Rule] = []
        limits: list[Rule] = []
        strictest = -1
        known = self._rules_for(request)
        args, state = _read_values(request, known)
        for one in known:
            if not one.fits(request.user, args, state, restricts=one.restricts):
                # A limit restricts even where its rule allows.
                if one.rule.limit is not None and one.fits(
                    request.user, args, state, restricts=True
                ):
                    limits.append(one.rule)
                continue
            rule = one.rule
            if rule.limit is not None:
                limits.append(rule)
            strictness = STRICTNESS[rule.verdict]
            if strictness > strictest:
                strictest, found = strictness, [rule]
            elif strictness == strictest:
                found.append(rule)
        if not found:
            return PolicyDecision(self.default, None, (None,), limits)
        return PolicyDecision(found[0].verdict, found[0], found, limits)

    def find_rules(self, request: ToolRequest) -> list[Rule]:
        """Return the rules that fit a call, whatever their verdict, and those that limit it."""
        known = self._rules_for(request)
        args, state = _read_values(request, known)
        return [
            one.rule
            for one in known
            if one.fits(request.user, args, state, restricts=one.restricts)
            or (one.rule.limit is not None and one.fits(request.user, args, state, restricts=True))
        ]

    def _rules_for(self, request: ToolRequest) -> tuple[_CompiledRule, ...]:
        """Return the rules for an agent's tool, remembered by both names and the source."""
        key = (request.tool, request.agent, request.source)
        known = self._cache.get(key)
        if known is None:
            known = tuple(
                one
                for one in self._compiled
                if fits(one.rule.tool, request.tool)
                and fits(one.rule.agent, request.agent)
                and fits(one.rule.source, request.source)
            )
            if len(self._cache) >= _CACHED:  # a model may make up names
                self._cache.clear()
            self._cache[key] = known
        return known


def _read_values(
    request: ToolRequest, rules: Sequence[_CompiledRule]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the arguments with their defaults, and the state, as far as rules look at them."""
    args, given = request.args, request.state
    if any([one.args for one in rules]):
        args = {**request.defaults(), **args}
    state: Mapping[str, Any] = {}
    if any([one.state for one in rules]):
        state = given() if callable(given) else given
    return args, state


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


Field = Literal["id", "verdict"]


def find_conflicts(rules: Sequence[Rule]) -> list[tuple[int, Field, str]]:
    """Return rules that cannot stand beside each other: index, field and problem of the later one.

    Two rules conflict if they have one id, if they fit the same calls with different verdicts, or
    if one can never decide because a stricter one without conditions covers all its calls.
    """
    found: list[tuple[int, Field, str]] = []
    ids: dict[str, int] = {}
    by_scope: dict[str, Rule] = {}
    scopes = [rule.model_dump_json(include={*_SCOPE, "args", "state"}) for rule in rules]
    wide_ones = [index for index, rule in enumerate(rules) if not rule.args and not rule.state]
    for index, rule in enumerate(rules):
        if ids.setdefault(rule.id, index) != index:
            found.append((index, "id", f"two rules have the id {rule.id!r}; rename one"))
            continue
        other = by_scope.setdefault(scopes[index], rule)
        if other.verdict != rule.verdict:
            problem = (
                f"rule {rule.id!r} says {rule.verdict}, and rule {other.id!r} says {other.verdict} "
                "about the same calls; keep one"
            )
            found.append((index, "verdict", problem))
        elif rule.limit is None:  # a limit counts, whichever rule decides
            wide = next(
                (
                    rules[at]
                    for at in wide_ones
                    if scopes[at] != scopes[index]
                    and STRICTNESS[rules[at].verdict] > STRICTNESS[rule.verdict]
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
