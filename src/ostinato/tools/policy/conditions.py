"""Conditions of a rule on values that a JSON pointer selects from arguments or state."""

from __future__ import annotations

import fnmatch
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from .exact_numbers import Number, read_number

Scalar = str | int | float | bool | None
Bound = (
    Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)]
)
LONGEST = 100_000  # characters of a text that a pattern is compared with
ANY_ITEM = "*"


class Unreadable:
    """Stands for what a pointer looks for where it cannot be, although a tool may find it.

    That is within a text, which may be JSON, or in a list or object in place of the other.
    """


UNREADABLE = Unreadable()


class Condition(BaseModel):
    """A condition on one value; all operators that are given have to hold.

    Attributes:
      equals, not_equals: the value is this one, or is not.
      any_of (`in`), not_in: the value is one of these, or none of them.
      gt, gte, lt, lte: the value is a number, or a text that says one, beyond this bound.
      like, not_like: the text fits this shell pattern, such as `/tmp/*`, or does not.
      contains: the text contains this text, or the list this item.
      exists: whether there is a value at all.

    Raises:
      ValidationError: no operator is given, or no value can meet those that are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, populate_by_name=True)

    equals: Scalar = None
    not_equals: Scalar = None
    any_of: tuple[Scalar, ...] | None = Field(default=None, alias="in", min_length=1)
    not_in: tuple[Scalar, ...] | None = Field(default=None, min_length=1)
    gt: Bound | None = None
    gte: Bound | None = None
    lt: Bound | None = None
    lte: Bound | None = None
    like: str | None = None
    not_like: str | None = None
    contains: Scalar = None
    exists: bool | None = Field(default=None, strict=True)

    _tests: tuple[tuple[Any, Any], ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _check_sense(self) -> Self:
        given = self.model_fields_set
        self._tests = tuple((OPERATORS[name], getattr(self, name)) for name in sorted(given))
        if not given:
            raise ValueError("the condition is empty: give an operator, such as `equals`")
        if self.exists is False and given != {"exists"}:
            raise ValueError("`exists: false` contradicts every other operator beside it")
        low = max((bound for bound in (self.gt, self.gte) if bound is not None), default=-math.inf)
        high = min((bound for bound in (self.lt, self.lte) if bound is not None), default=math.inf)
        is_open = low in (self.gt, self.lt) or high in (self.gt, self.lt)
        if low > high or (low == high and is_open):
            raise ValueError(f"no number is between the bounds {low} and {high}")
        excluded = self.not_like
        if None not in (self.like, excluded) and covers_pattern(str(excluded), str(self.like)):
            raise ValueError(f"no text fits {self.like!r} and not {self.not_like!r}")
        wanted = (self.equals,) if "equals" in given else self.any_of
        if wanted is not None and all(self.is_met_by(value) is False for value in wanted):
            raise ValueError("no value that it asks for meets its other operators")
        return self

    def is_met_by(self, value: Any) -> bool | None:
        """Return whether a value meets all operators; None if that cannot be said of its type."""
        is_unknown = False
        for test, wanted in self._tests:
            answer = test(value, wanted)
            if answer is False:
                return False
            is_unknown = is_unknown or answer is None
        return None if is_unknown else True

    def is_met(self, values: Sequence[Any], *, restricts: bool) -> bool:
        """Return whether the selected values meet the condition.

        What cannot be said counts against the call: it meets the condition of a rule that
        restricts, and does not meet that of a rule that allows.

        Args:
          values: the values that the pointer selects; none if there is no such value.
          restricts: whether the rule asks or denies. Then one value is enough, else all have to
            meet the condition.
        """
        if not values:
            if self.exists is not None:
                return not self.exists
            return restricts and not self.model_fields_set.isdisjoint(NEGATIONS)
        for value in values:
            answer = self.is_met_by(value)
            if restricts and answer is not False:
                return True
            if not restricts and answer is not True:
                return False
        return not restricts


def as_condition(value: Any) -> Any:
    """Return the fields of a condition; a plain value stands for `equals`."""
    is_condition = isinstance(value, Mapping | Condition)
    return cast("Any", value) if is_condition else {"equals": value}


def _is_same(value: Any, wanted: Any) -> bool:
    """Return whether two values are equal in JSON, where true is not 1."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _is_in(value: Any, wanted: Sequence[Any]) -> bool:
    return any(_is_same(value, one) for one in wanted)


def _is_equal(value: Any, wanted: Any) -> bool | None:
    """Return whether two values are equal; None if a tool might read the value as the other one."""
    if _is_same(value, wanted):
        return True
    if value is None or wanted is None:
        return False
    if isinstance(value, Mapping | list | Unreadable):
        return None
    if any(isinstance(value, kind) and isinstance(wanted, kind) for kind in (str, bool)):
        return False
    if isinstance(value, bool) or isinstance(wanted, bool):
        return None  # tools read "yes", "1" and 1 as true
    number = read_number(value)
    is_alike = number is not None and number == read_number(wanted)
    return None if is_alike or str(value) == str(wanted).strip() else False


def _is_any_of(value: Any, wanted: Sequence[Any]) -> bool | None:
    answers = {_is_equal(value, one) for one in wanted}
    return True if True in answers else None if None in answers else False


def _negate(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _is_like(value: Any, pattern: str) -> bool | None:
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    return compile_pattern(pattern)(value) is not None


def _has(value: Any, wanted: Any) -> bool | None:
    if isinstance(value, str):
        return wanted in value if isinstance(wanted, str) else None
    if isinstance(value, list):
        return _is_in(wanted, cast("list[Any]", value))
    return None


@cache
def compile_pattern(pattern: str) -> Any:
    """Return the matcher of a shell pattern; its time is bounded by both lengths' product."""
    return re.compile(fnmatch.translate(pattern)).match


def covers_pattern(wide: str, narrow: str) -> bool:
    """Return whether a shell pattern surely fits whatever another one fits."""
    if wide == narrow or (wide and not wide.strip("*")):
        return True
    is_plain = set(narrow).isdisjoint("*?[")
    # What stands for other characters in the narrow one can only be met by a star of the wide one.
    is_simple = set(wide).isdisjoint("?[]") and "[" not in narrow
    return (is_plain or is_simple) and compile_pattern(wide)(narrow) is not None


def _exists(value: Any, wanted: bool) -> bool:
    return wanted


def _compare(value: Any, bound: float, holds: Callable[[Number, Number], bool]) -> bool | None:
    number, limit = read_number(value), read_number(bound)
    return None if number is None or limit is None else holds(number, limit)


OPERATORS: dict[str, Callable[[Any, Any], bool | None]] = {
    "equals": _is_equal,
    "not_equals": lambda value, wanted: _negate(_is_equal(value, wanted)),
    "any_of": _is_any_of,
    "not_in": lambda value, wanted: _negate(_is_any_of(value, wanted)),
    "gt": lambda value, bound: _compare(value, bound, operator.gt),
    "gte": lambda value, bound: _compare(value, bound, operator.ge),
    "lt": lambda value, bound: _compare(value, bound, operator.lt),
    "lte": lambda value, bound: _compare(value, bound, operator.le),
    "like": _is_like,
    "not_like": lambda value, pattern: _negate(_is_like(value, pattern)),
    "contains": _has,
    "exists": _exists,
}
NEGATIONS = ("not_equals", "not_in", "not_like")


def read_key(value: Any, key: str) -> Any:
    """Return what a dict holds under a key; None of anything else."""
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def split_pointer(pointer: str) -> tuple[str, ...]:
    """Return the steps of a JSON pointer (RFC 6901); `*` stands for every item of a list.

    Raises:
      ValueError: the text is not a pointer.
    """
    if not pointer.startswith("/") or re.search("~(?![01])", pointer):
        raise ValueError(f"{pointer!r} is no JSON pointer: write it as /name or /list/0/name")
    return tuple(
        step.replace("~1", "/").replace("~0", "~") for step in pointer.removeprefix("/").split("/")
    )


def select_values(data: Any, steps: Sequence[str]) -> list[Any]:
    """Return the values that a pointer's steps select; none if there is no such value.

    No condition can be said to hold for a value below one of another kind than the pointer has it:
    a text, a number, a list that has no such names, or an object that has no items.
    """
    if len(steps) == 1 and isinstance(data, dict):  # most pointers name an argument
        fields = cast("dict[str, Any]", data)
        return [fields[steps[0]]] if steps[0] in fields else []
    found: list[Any] = [data]
    for step in steps:
        below: list[Any] = []
        for value in found:
            if isinstance(value, Mapping):
                fields = cast("Mapping[str, Any]", value)
                if step in fields and (step != ANY_ITEM or value is data):
                    below.append(fields[step])
                elif value is not data and (step == ANY_ITEM or step.isdecimal()):
                    below.append(UNREADABLE)
            elif isinstance(value, list | tuple):
                below += _select_items(cast("Sequence[Any]", value), step)
            elif value is not None:
                below.append(UNREADABLE)
        found = below
    return found


def _select_items(items: Sequence[Any], step: str) -> Sequence[Any]:
    if step == ANY_ITEM:
        return items
    if not step.isdecimal():
        return (UNREADABLE,)
    return items[int(step) : int(step) + 1] if len(step) < 10 else ()
