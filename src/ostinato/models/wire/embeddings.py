"""Answers of OpenAI's embeddings API, read as vectors."""

from __future__ import annotations

from typing import Any

from .faults import BadAnswer
from .reading import fields_of, items_of


def vectors_of(answer: dict[str, Any], count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts.

    Args:
      answer: the answer.
      count: how many texts were sent.

    Raises:
      BadAnswer: there is not one vector of numbers for each text.
    """
    found: dict[int, list[float]] = {}
    for place, one in enumerate(items_of(answer.get("data"))):
        fields = fields_of(one)
        index = fields.get("index", place)
        vector = items_of(fields.get("embedding"))
        if type(index) is not int or not vector or not all(map(_is_number, vector)):
            raise BadAnswer("an embedding is not a list of numbers")
        found[index] = [float(number) for number in vector]
    if sorted(found) != list(range(count)):
        raise BadAnswer(f"it holds {len(found)} embeddings for {count} texts")
    return [found[index] for index in range(count)]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
