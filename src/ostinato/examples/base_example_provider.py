"""Port of example providers, which ExampleTool asks for examples."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .example import Example


class BaseExampleProvider(ABC):
    """Hands out examples (Spec 1 §10)."""

    @abstractmethod
    def get_examples(self, query: str) -> list[Example]:
        """Return the examples to show for a question.

        Args:
          query: text of the user's message.

        Returns:
          The examples, in the order they are to be shown.
        """
