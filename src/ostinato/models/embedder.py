"""Embedder: the port of models that turn texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, whose distance says how alike the texts are."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in their order.

        Raises:
          ProviderError: there are none; the class says why.
        """
        ...
