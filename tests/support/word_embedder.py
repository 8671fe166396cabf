"""An embedder without a model: a dimension for each word, and words of one meaning share theirs."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato._words import asked_words

_DIMENSIONS = 4096


class WordEmbedder:
    """Counts words.

    Args:
      model: its name.
      same: sets of words that mean the same.

    Attributes:
      requests: the texts of each request.
      failure: raised by the next requests, if any.
    """

    def __init__(self, model: str = "words", *same: set[str]) -> None:
        self.model = model
        self.requests: list[list[str]] = []
        self.failure: Exception | None = None
        self._meanings = {word: f"meaning {n}" for n, group in enumerate(same) for word in group}
        self._places: dict[str, int] = {}

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.requests.append(list(texts))
        if self.failure is not None:
            raise self.failure
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * _DIMENSIONS
        for word in asked_words(text):
            meaning = self._meanings.get(word, word)
            place = self._places.setdefault(meaning, len(self._places) % _DIMENSIONS)
            vector[place] += 1.0
        return vector
