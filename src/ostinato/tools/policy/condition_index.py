"""ConditionIndex: the conditions of many rules on one value, answered by few lookups.

A set of rules is an int with one bit a rule. What `Condition.is_met` says of one rule after the
other, an index says of all of them: texts and numbers that are compared for equality are found by
hash, bounds by bisection, and patterns are tried for the rules that nothing else has ruled out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import Any, NamedTuple, cast

from .conditions import (
    LONGEST,
    NEGATIONS,
    OPERATORS,
    Condition,
    Unreadable,
    compile_pattern,
    select_values,
)
from .exact_numbers import Number, read_number


class Clause(NamedTuple):
    """A condition, and whose it is.

    Attributes:
      bit: the rule's bit.
      condition: the condition.
      restricts: whether it holds, too, if that cannot be said; see `Condition.is_met`.
    """

    bit: int
    condition: Condition
    restricts: bool


class ConditionIndex:
    """The conditions of several rules on what one pointer selects.

    Args:
      steps: the pointer's steps.
      clauses: the conditions, one a rule.

    Attributes:
      steps: the pointer's steps.
      cost: how many tests a value may take beside lookups.
    """

    def __init__(self, steps: Sequence[str], clauses: Sequence[Clause]) -> None:
        self.steps = steps
        self._clauses = clauses
        self._others = ~_join_bits(clauses)  # the rules without a condition here
        self._restricting = _join_bits(one for one in clauses if one.restricts)
        self._missing = self._others | _join_bits(
            one for one in clauses if one.condition.is_met((), restricts=one.restricts)
        )
        self._tests = _make_tests(clauses)
        self.cost = sum(test.cost for test in self._tests)
        self._reads_numbers = any(test.reads_numbers for test in self._tests)
        # What a value of such a type holds changes no answer.
        self._fixed_types: set[type] = {dict, Unreadable}
        if not any("contains" in one.condition.model_fields_set for one in clauses):
            self._fixed_types.add(list)
        self._answers: dict[Any, int] = {}

    def keep_met(
        self, rules: int, data: Mapping[str, Any], read: Mapping[str, Any] | None = None
    ) -> int:
        """Return those of some rules whose conditions the data meet.

        Args:
          rules: the rules.
          data: the arguments or the state.
          read: arguments as the tool reads them; each form counts against the call.
        """
        values, is_dropped = select_values(data, self.steps), False
        if read and self.steps[0] in read:
            values_read = select_values(read, self.steps)
            is_dropped = not values_read and bool(values)
            values = [*values, *values_read]
        if len(values) == 1 and not is_dropped:
            return self._keep_met_by(values[0], rules)
        if not values:
            return rules & self._missing
        some, every = 0, rules
        if is_dropped:  # the tool does not get the value
            some = every = rules & self._missing
        for value in values:
            met = self._keep_met_by(value, rules)
            some |= met
            every &= met
        return every | some & self._restricting

    def _keep_met_by(self, value: Any, rules: int) -> int:
        kind = cast("Any", type(value))
        if kind is str or kind is int or kind is float:
            number = read_number(value) if self._reads_numbers else None
            for test in self._tests:
                rules &= test.others | test.find_met(value, number, rules)
            return rules
        if value is not None and kind is not bool and kind not in self._fixed_types:
            return self._keep_met_by_each(value, rules)
        key: Any = value if value is None or kind is bool else kind
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._keep_met_by_each(value, -1)
        return rules & answer

    def _keep_met_by_each(self, value: Any, rules: int) -> int:
        """Ask the conditions one by one."""
        met = rules & self._others
        for bit, condition, restricts in self._clauses:
            if rules & bit and condition.is_met((value,), restricts=restricts):
                met |= bit
        return met


class _Test:
    """One operator of all conditions that have it.

    Args:
      name: the operator.
      clauses: the conditions that have it.

    Attributes:
      others: the rules that do not have it.
      cost: how many comparisons it may take.
      reads_numbers: whether it needs the number that a text says.
    """

    cost = 0
    reads_numbers = False

    def __init__(self, name: str, clauses: Sequence[Clause]) -> None:
        self._all = _join_bits(clauses)
        self._restricting = _join_bits(one for one in clauses if one.restricts)
        self.others = ~self._all

    def find_met(self, value: str | float, number: Number | None, rules: int) -> int:
        """Return which of the rules a text or number meets; of others it may say anything."""
        raise NotImplementedError


class _EachTest(_Test):
    """Operators that are asked one by one."""

    def __init__(self, name: str, clauses: Sequence[Clause]) -> None:
        super().__init__(name, clauses)
        self.cost = len(clauses)
        self._holds = OPERATORS[name]
        self._wanted = [(one.bit, getattr(one.condition, name)) for one in clauses]

    def find_met(self, value: str | float, number: Number | None, rules: int) -> int:
        met = 0
        for bit, wanted in self._wanted:
            if rules & bit:
                answer = self._holds(value, wanted)
                if answer or (answer is None and bit & self._restricting):
                    met |= bit
        return met


class _EqualityTest(_Test):
    """`equals`, `in` and their negations."""

    def __init__(self, name: str, clauses: Sequence[Clause]) -> None:
        super().__init__(name, clauses)
        self._is_negated = name in NEGATIONS
        self._texts: dict[str, int] = {}
        self._numbers: dict[float, int] = {}
        # Numbers and texts that a tool may read as what is wanted, of a text and of a number.
        self._of_text: dict[Number | str, int] = {}
        self._of_number: dict[Number | str, int] = {}
        self._unsure = 0  # the rules that compare with true or false, which tools read from both
        for bit, condition, restricts in clauses:
            given: Any = getattr(condition, name)
            for one in cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,):
                self._add(one, bit, counts_unsure=restricts is not self._is_negated)
        self.reads_numbers = bool(self._of_number)

    def _add(self, wanted: Any, bit: int, *, counts_unsure: bool) -> None:
        if isinstance(wanted, bool):
            self._unsure |= bit if counts_unsure else 0
            return
        if wanted is None:
            return
        is_text = isinstance(wanted, str)
        _add_bit(self._texts if is_text else self._numbers, wanted, bit)
        if counts_unsure:
            number = read_number(wanted)
            for key in (str(wanted).strip(), number):
                if key is not None:
                    _add_bit(self._of_number, key, bit)
                    if not is_text:
                        _add_bit(self._of_text, key, bit)

    def find_met(self, value: str | float, number: Number | None, rules: int) -> int:
        met = self._unsure
        if isinstance(value, str):
            met |= self._texts.get(value, 0)
            if self._of_text:
                met |= self._of_text.get(value if number is None else number, 0)
        else:
            met |= self._numbers.get(value, 0)
            if self._of_number:
                met |= self._of_number.get(str(value) if number is None else number, 0)
        return self._all ^ met if self._is_negated else met


class _BoundTest(_Test):
    """`gt`, `gte`, `lt` and `lte`."""

    reads_numbers = True

    def __init__(self, name: str, clauses: Sequence[Clause]) -> None:
        super().__init__(name, clauses)
        self._is_upper = name in ("lt", "lte")
        self._find_place = bisect_left if name in ("gt", "lte") else bisect_right
        bounds = sorted((_read_bound(one.condition, name), one.bit) for one in clauses)
        self._bounds = [bound for bound, _ in bounds]
        self._below = [0]  # the rules with the lowest bounds, by how many they are
        for _, bit in bounds:
            self._below.append(self._below[-1] | bit)

    def find_met(self, value: str | float, number: Number | None, rules: int) -> int:
        if number is None:
            return self._restricting
        below = self._below[self._find_place(self._bounds, number)]
        return self._all ^ below if self._is_upper else below


class _PatternTest(_Test):
    """`like` and `not_like`."""

    def __init__(self, name: str, clauses: Sequence[Clause]) -> None:
        super().__init__(name, clauses)
        self._is_negated = name in NEGATIONS
        by_pattern: dict[str, int] = {}
        for one in clauses:
            _add_bit(by_pattern, getattr(one.condition, name), one.bit)
        self._matchers = [(bits, _make_matcher(pattern)) for pattern, bits in by_pattern.items()]
        self.cost = len(self._matchers)

    def find_met(self, value: str | float, number: Number | None, rules: int) -> int:
        if not isinstance(value, str) or len(value) > LONGEST:
            return self._restricting
        met = 0
        for bits, matches in self._matchers:
            if bits & rules and matches(value):
                met |= bits
        return self._all ^ met if self._is_negated else met


_TESTS: dict[str, type[_Test]] = {
    "equals": _EqualityTest,
    "not_equals": _EqualityTest,
    "any_of": _EqualityTest,
    "not_in": _EqualityTest,
    "gt": _BoundTest,
    "gte": _BoundTest,
    "lt": _BoundTest,
    "lte": _BoundTest,
    "like": _PatternTest,
    "not_like": _PatternTest,
    "contains": _EachTest,
    "exists": _EachTest,
}


def _make_tests(clauses: Sequence[Clause]) -> list[_Test]:
    """Return the tests of all operators that the conditions have, the cheap ones first."""
    by_name: dict[str, list[Clause]] = {}
    for one in clauses:
        for name in one.condition.model_fields_set:
            by_name.setdefault(name, []).append(one)
    return sorted((_TESTS[name](name, some) for name, some in by_name.items()), key=_read_cost)


def _read_cost(test: _Test) -> int:
    return test.cost


def _make_matcher(pattern: str) -> Callable[[str], Any]:
    """Return a test for a shell pattern; for the usual ones, one that needs no expression."""
    middle = pattern.strip("*")
    if not middle or not set(middle).isdisjoint("*?["):
        return compile_pattern(pattern)
    is_open = pattern.startswith("*"), pattern.endswith("*")
    return methodcaller(_METHODS[is_open], middle)


_METHODS = {
    (False, False): "__eq__",
    (False, True): "startswith",
    (True, False): "endswith",
    (True, True): "__contains__",
}


def _read_bound(condition: Condition, name: str) -> Number:
    """Return a bound of a condition."""
    number = read_number(getattr(condition, name))
    assert number is not None  # a bound is finite
    return number


def _add_bit(known: dict[Any, int], key: Any, bit: int) -> None:
    known[key] = known.get(key, 0) | bit


def _join_bits(clauses: Iterable[Clause]) -> int:
    bits = 0
    for one in clauses:
        bits |= one.bit
    return bits
