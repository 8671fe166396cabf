"""No regular expression of the package costs more than in proportion to its text."""

from __future__ import annotations

import re

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
ALL = [one for one in patterns() if not one.place.startswith(tuple(OWN_INPUT))]


@pytest.mark.parametrize("pattern", ALL, ids=[one.place for one in ALL])
def test_a_pattern_takes_time_in_proportion(pattern: Pattern) -> None:
    for head, filler, end in texts_against(pattern.regex):

        def make(size: int, head: str = head, filler: str = filler, end: str = end) -> str:
            return head + filler * (size // max(1, len(filler))) + end

        assert is_linear(pattern.run, make), (pattern.regex.pattern, head, filler[:40], end)


def test_the_patterns_are_found() -> None:
    places = {one.place for one in ALL}
    assert {
        "_secrets.py _compile_text",
        "_words.py _compile_runs",
        "server/problems.py _PATHS",
        "context/template.py _BRACES",
    } <= places
    assert len(ALL) > 60


@pytest.mark.parametrize("source", [r"\beyJ[\w-]+\.", r"\s+$", r"<[^>]*>x"])
def test_a_pattern_that_backtracks_is_noticed(source: str) -> None:
    pattern = Pattern("here", re.compile(source), anchored=False)
    texts = [
        lambda size, text=text: text[0] + text[1] * (size // max(1, len(text[1]))) + text[2]
        for text in texts_against(pattern.regex)
    ]
    # Other processes may hide the growth in one measurement.
    assert any(not is_linear(pattern.run, make) for _ in range(3) for make in texts)
