"""No regular expression of the package costs more than in proportion to its text."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.adversarial.growth import is_linear
from tests.adversarial.patterns import Pattern, patterns, texts_against

pytestmark = pytest.mark.long

# Patterns that nobody outside can feed, by the beginning of their place, and why.
OWN_INPUT = {
    "code_executors/built_in_code_executor.py": "the name of a model, from the agent's code",
    "models/anthropic_llm.py": "the name of a model, from the agent's code",
    "models/offline": "a text is cut to 4,000 characters before the stand-in model looks at it",
    "page/EventCard.tsx": "base64 that the server itself wrote",
}
_PARTS = 16


@cache
def fed_patterns() -> list[Pattern]:
    """Return the patterns that somebody outside can feed.

    Not at import: all sources are read for it, and `make test` collects this file too.
    """
    return [one for one in patterns() if not one.place.startswith(tuple(OWN_INPUT))]


@pytest.mark.parametrize("part", range(_PARTS))
def test_patterns_take_time_in_proportion(part: int) -> None:
    slow = [text for one in fed_patterns()[part::_PARTS] for text in find_slow_texts(one)]
    assert slow == []


def find_slow_texts(pattern: Pattern) -> list[object]:
    """Return the texts for which a pattern takes more than time in proportion, with its place."""
    found: list[object] = []
    for head, filler, end in texts_against(pattern.regex):

        def make(size: int, head: str = head, filler: str = filler, end: str = end) -> str:
            return head + filler * (size // max(1, len(filler))) + end

        if not is_linear(pattern.run, make):
            found.append((pattern.place, pattern.regex.pattern, head, filler[:40], end))
    return found


def test_the_patterns_are_found() -> None:
    places = {one.place for one in fed_patterns()}
    assert {
        "_secrets.py _compile_text",
        "_words.py _compile_runs",
        "server/problems.py _PATHS",
        "context/template.py _BRACES",
    } <= places
    assert len(fed_patterns()) > 60


@pytest.mark.parametrize("source", [r"\beyJ[\w-]+\.", r"\s+$", r"<[^>]*>x"])
def test_a_pattern_that_backtracks_is_noticed(source: str) -> None:
    pattern = Pattern("here", re.compile(source), anchored=False)
    texts = [
        lambda size, text=text: text[0] + text[1] * (size // max(1, len(text[1]))) + text[2]
        for text in texts_against(pattern.regex)
    ]
    # Other processes may hide the growth in one measurement.
    assert any(not is_linear(pattern.run, make) for _ in range(3) for make in texts)
