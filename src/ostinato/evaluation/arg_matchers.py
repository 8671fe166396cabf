"""Matchers in expected arguments, such as `{"city": {"$regex": "^Rom"}}`.

A matcher is an object with one key that begins with `$`, and its options. Anything else must be
equal.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from typing import Any, cast

from ..errors import InputValidationError

JudgeQuestion = tuple[str, Any]
"""What a judge is asked: a description, and the value that should fit it."""


class ArgMatch:
    """The comparison of actual arguments with expected ones.

    Attributes:
      questions: what only a judge can decide.
    """

    def __init__(self) -> None:
        self.questions: list[JudgeQuestion] = []

    def matches(self, actual: Any, expected: Any) -> bool:
        """Return whether a value fits; `questions` receives what a judge must decide.

        Args:
          actual: the value.
          expected: a value, or a matcher, or a structure that holds matchers.

        Raises:
          InputValidationError: a matcher is unknown or wrong.
        """
        name = _matcher_of(expected)
        if name is not None:
            return _MATCHERS[name](self, actual, expected)
        if isinstance(expected, dict):
            return self._match_dict(actual, cast(dict[str, Any], expected))
        if isinstance(expected, list):
            items = cast(list[Any], expected)
            return (
                isinstance(actual, list | tuple)
                and len(cast(list[Any], actual)) == len(items)
                and all(map(self.matches, cast(list[Any], actual), items))
            )
        return _equal(actual, expected)

    def _match_dict(self, actual: Any, expected: dict[str, Any]) -> bool:
        if not isinstance(actual, dict):
            return False
        found = cast(dict[str, Any], actual)
        ignored = set(cast(list[str], expected.get("$ignore", [])))
        wanted = {key: value for key, value in expected.items() if key != "$ignore"}
        if found.keys() - ignored != wanted.keys() - ignored:
            return False
        return all(self.matches(found[key], wanted[key]) for key in wanted.keys() - ignored)

    def match_equal(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$equal": value}`: equal, even if the value looks like a matcher."""
        return bool(actual == matcher["$equal"])

    def match_any(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$any": true}`: any value."""
        if matcher["$any"] is not True:
            raise InputValidationError(
                f'"$any" takes true, not {matcher["$any"]!r}; leave the matcher out instead.'
            )
        return True

    def match_subset(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$subset": {...}}`: an object with at least these members."""
        wanted = matcher["$subset"]
        if not isinstance(wanted, dict):
            raise InputValidationError('"$subset" takes an object.')
        if not isinstance(actual, dict):
            return False
        found = cast(dict[str, Any], actual)
        return all(
            key in found and self.matches(found[key], value)
            for key, value in cast(dict[str, Any], wanted).items()
        )

    def match_approx(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$approx": 3.14, "tolerance": 0.01}`: a number near another one."""
        wanted, tolerance = matcher["$approx"], matcher.get("tolerance", 1e-6)
        if not _is_finite(wanted) or not _is_finite(tolerance) or tolerance < 0:
            raise InputValidationError(
                '"$approx" takes a number, "tolerance" one of at least 0; neither may be infinite '
                "or NaN."
            )
        return _is_number(actual) and math.isclose(actual, wanted, rel_tol=0, abs_tol=tolerance)

    def match_regex(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$regex": "^Rom"}`: text in which the expression is found."""
        try:
            pattern = re.compile(str(matcher["$regex"]))
        except re.error as error:
            raise InputValidationError(
                f'"$regex" {matcher["$regex"]!r} is not a regular expression: {error}.'
            ) from error
        return isinstance(actual, str) and pattern.search(actual) is not None

    def match_one_of(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$one_of": [...]}`: one of these values or matchers."""
        choices = matcher["$one_of"]
        if not isinstance(choices, list):
            raise InputValidationError('"$one_of" takes a list.')
        before = len(self.questions)
        for choice in cast(list[Any], choices):
            if self.matches(actual, choice):
                return True
            del self.questions[before:]
        return False

    def match_ignoring_case(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$ignore_case": "Rome"}`: text that differs only in case and outer blanks."""
        wanted = str(matcher["$ignore_case"]).strip().casefold()
        return isinstance(actual, str) and actual.strip().casefold() == wanted

    def ask_judge(self, actual: Any, matcher: dict[str, Any]) -> bool:
        """`{"$judge": "an address in Rome"}`: a value that a model finds fitting."""
        self.questions.append((str(matcher["$judge"]), actual))
        return True


_MATCHERS: dict[str, Callable[[ArgMatch, Any, dict[str, Any]], bool]] = {
    "$equal": ArgMatch.match_equal,
    "$any": ArgMatch.match_any,
    "$subset": ArgMatch.match_subset,
    "$approx": ArgMatch.match_approx,
    "$regex": ArgMatch.match_regex,
    "$one_of": ArgMatch.match_one_of,
    "$ignore_case": ArgMatch.match_ignoring_case,
    "$judge": ArgMatch.ask_judge,
}
_OPTIONS = {"$approx": {"tolerance"}}


def _matcher_of(expected: Any) -> str | None:
    """Return the matcher that a value is, or None; `$ignore` stands among ordinary members."""
    if not isinstance(expected, dict):
        return None
    names = [key for key in cast(dict[str, Any], expected) if key in _MATCHERS]
    if len(names) == 1:
        others = set(cast(dict[str, Any], expected)) - {names[0]} - _OPTIONS.get(names[0], set())
        if others:
            raise InputValidationError(
                f"The matcher {names[0]!r} has other members beside it: {', '.join(others)}."
            )
        return names[0]
    if names:
        raise InputValidationError(f"An object holds several matchers: {', '.join(names)}.")
    unknown = [key for key in cast(dict[str, Any], expected) if key[:1] == "$" != key]
    unknown = [key for key in unknown if key != "$ignore"]
    if unknown and len(cast(dict[str, Any], expected)) == 1:
        near = difflib.get_close_matches(unknown[0], _MATCHERS, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise InputValidationError(
            f"Unknown matcher {unknown[0]!r}. {hint}Write {{'$equal': ...}} around a value that "
            "only looks like a matcher."
        )
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or math.isfinite(value))


def _equal(actual: Any, expected: Any) -> bool:
    return bool(actual == expected)
