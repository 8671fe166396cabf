"""Examples that show a model how to answer, and their providers, for ExampleTool."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.examples.base_example_provider import BaseExampleProvider as BaseExampleProvider
    from ostinato.examples.example import Example as Example
    from ostinato.examples.vertex_ai_example_store import (
        VertexAiExampleStore as VertexAiExampleStore,
    )

__getattr__, __dir__, __all__ = attach(__name__)
