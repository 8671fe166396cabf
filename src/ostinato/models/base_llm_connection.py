"""BaseLlmConnection: the port of a live, two-way connection to a model. Live mode is not built
yet.
"""

from __future__ import annotations

import abc
from collections.abc import AsyncGenerator

from .. import types
from .llm_response import LlmResponse


class BaseLlmConnection(abc.ABC):
    """A live connection to a model (Spec 1 §17)."""

    @abc.abstractmethod
    async def send_history(self, history: list[types.Content]) -> None:
        """Send the conversation so far."""

    @abc.abstractmethod
    async def send_content(self, content: types.Content) -> None:
        """Send a user message or function responses."""

    @abc.abstractmethod
    async def send_realtime(self, blob: types.Blob) -> None:
        """Send a piece of audio or video."""

    @abc.abstractmethod
    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the model sends."""
        raise NotImplementedError(f"{type(self).__name__} does not receive")
        yield  # marks this as an async generator, as every implementation is

    @abc.abstractmethod
    async def close(self) -> None:
        """End the connection."""
