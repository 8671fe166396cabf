"""Ranking of tools by a query: BM25 over their names, descriptions and parameters."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from .._words import asked_words, words
from .base_tool import BaseTool

# Where an identifier has a new word: getWeather, HTTPServer, list_ports, port8080.
_BOUNDARY = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_|(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)"
)
_K1, _B = 1.2, 0.75  # the usual saturation of repeated words, and weight of a text's length
_NAME, _DESCRIPTION, _PARAMETER = 3, 1, 1  # how often a word of each counts
_MAX_QUERY = 1_000


class ToolRanking:
    """An index of tools.

    Args:
      tools: the tools to rank; of equal ones the earlier comes first.
    """

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools = tools
        self._counts = [_count_words(tool) for tool in tools]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / len(tools) if tools else 1.0
        self._spread = Counter(word for counts in self._counts for word in counts)

    def find(self, query: str, limit: int) -> list[BaseTool]:
        """Return the tools that fit a query best; a tool that is named exactly comes first.

        Args:
          query: words, or names of tools.
          limit: the most tools to return.
        """
        query = query[:_MAX_QUERY]
        named = {_fold(name) for name in re.findall(r"[\w.-]+", query)}
        wanted = {_to_singular(word) for word in asked_words(_split_names(query))}
        scores = [
            (_fold(tool.name) in named, self._score(index, wanted), -index)
            for index, tool in enumerate(self._tools)
        ]
        best = sorted([score for score in scores if score[0] or score[1] > 0], reverse=True)
        return [self._tools[-place] for _, _, place in best[:limit]]

    def _score(self, index: int, wanted: set[str]) -> float:
        counts, total = self._counts[index], 0.0
        for word in wanted:
            times = counts.get(word, 0)
            if times:
                spread = self._spread[word]
                rarity = math.log(1 + (len(self._tools) - spread + 0.5) / (spread + 0.5))
                length = 1 - _B + _B * self._lengths[index] / self._mean
                total += rarity * times * (_K1 + 1) / (times + _K1 * length)
        return total


def _split_names(text: str) -> str:
    """Return a text with spaces between the words of identifiers."""
    return _BOUNDARY.sub(" ", unicodedata.normalize("NFKC", text))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _to_singular(word: str) -> str:
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _count_words(tool: BaseTool) -> Counter[str]:
    declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
    counts: Counter[str] = Counter()
    texts: list[tuple[int, str]] = [(_NAME, tool.name), (_DESCRIPTION, tool.description or "")]
    if declaration is not None:
        given: Any = declaration.parameters_json_schema
        schema = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        fields: Any = schema.get("properties")
        if fields is None and declaration.parameters is not None:
            fields = declaration.parameters.properties
        texts += [(_PARAMETER, str(name)) for name in fields or ()]
    for weight, text in texts:
        for word in words(_split_names(text)):
            counts[_to_singular(word)] += weight
    return counts
