"""RuleTable: the rules about one tool, compiled so that a decision looks at all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .condition_index import Clause, ConditionIndex
from .conditions import Condition, split_pointer
from .rule import Rule, fits
from .tool_request import ToolRequest

_CACHED = 1_000  # users whose rules are remembered


class RuleTable:
    """Rules whose patterns fit a tool, its source and an agent.

    A set of rules is an int: bit n stands for rule n, and bit n + len(rules) for its limit, which
    restricts even where the rule allows.

    Args:
      rules: the rules.

    Attributes:
      pointers: the arguments that the rules look at, count or bind grants to.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._every = (1 << len(rules)) - 1
        by_args: dict[str, list[Clause]] = {}
        by_state: dict[str, list[Clause]] = {}
        self._by_patterns: dict[tuple[str, ...], int] = {}
        self._by_user: dict[str, int] = {}
        for number, rule in enumerate(rules):
            bit, limit_bit = 1 << number, 1 << number + len(rules)
            bits = [(bit, rule.verdict != "allow")]
            if rule.limit is not None:
                bits.append((limit_bit, True))
            for bit, restricts in bits:
                _add_clauses(by_args, rule.args, bit, restricts=restricts)
                _add_clauses(by_state, rule.state, bit, restricts=restricts)
                self._by_patterns[rule.user] = self._by_patterns.get(rule.user, 0) | bit
        self._args = _make_indexes(by_args)
        self._state = _make_indexes(by_state)
        self._arg_names = {index.steps[0] for index in self._args}
        self.pointers = frozenset(one for rule in rules for one in _list_pointers(rule))

    def find_rules(self, request: ToolRequest) -> tuple[Sequence[Rule], Sequence[Rule]]:
        """Return the rules that fit a call, and those whose limits it has to keep, in order."""
        met = self._find_user_rules(request.user)
        if met and self._args:
            args = request.args
            if not self._arg_names <= args.keys():
                args = {**request.defaults(), **args}
            read = None if request.read is None else request.read(self._arg_names)
            met = _keep_met(met, self._args, args, read)
        if met and self._state:
            state = request.state
            met = _keep_met(met, self._state, state() if callable(state) else state)
        if not met:
            return (), ()
        return self._read_rules(met & self._every), self._read_rules(met >> len(self._rules))

    def _find_user_rules(self, user: str) -> int:
        """Return the rules whose patterns fit a user."""
        found = self._by_user.get(user)
        if found is None:
            found = 0
            for patterns, bits in self._by_patterns.items():
                if fits(patterns, user):
                    found |= bits
            if len(self._by_user) >= _CACHED:
                self._by_user.clear()
            self._by_user[user] = found
        return found

    def _read_rules(self, bits: int) -> list[Rule]:
        """Return the rules that bits stand for, in order."""
        found: list[Rule] = []
        while bits:
            lowest = bits & -bits
            found.append(self._rules[lowest.bit_length() - 1])
            bits ^= lowest
        return found


def _list_pointers(rule: Rule) -> list[str]:
    counted = None if rule.limit is None else rule.limit.sum
    return [*rule.args, *rule.same, *(() if counted is None else (counted,))]


def _keep_met(
    rules: int,
    indexes: Sequence[ConditionIndex],
    data: Mapping[str, Any],
    read: Mapping[str, Any] | None = None,
) -> int:
    """Return those of some rules whose conditions the data meet."""
    for index in indexes:
        rules = index.keep_met(rules, data, read)
        if not rules:
            break
    return rules


def _add_clauses(
    by_pointer: dict[str, list[Clause]],
    conditions: Mapping[str, Condition],
    bit: int,
    *,
    restricts: bool,
) -> None:
    for pointer, condition in conditions.items():
        by_pointer.setdefault(pointer, []).append(Clause(bit, condition, restricts))


def _make_indexes(by_pointer: Mapping[str, Sequence[Clause]]) -> list[ConditionIndex]:
    """Return an index for each pointer, the cheap ones first."""
    found = [ConditionIndex(split_pointer(one), clauses) for one, clauses in by_pointer.items()]
    return sorted(found, key=lambda index: index.cost)
