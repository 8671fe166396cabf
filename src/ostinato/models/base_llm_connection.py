"""BaseLlmConnection: the port of a live, two-way connection to a model. `BaseLlm.connect` opens
one, the live flow speaks over it; adapters and users' own models implement it.
"""

from __future__ import annotations

import abc
from collections.abc import AsyncGenerator

from .. import types
from .llm_response import LlmResponse

CANCELLED_CALLS = "cancelled_calls"
"""Under this key of `LlmResponse.custom_metadata` a connection lists the ids of the calls that the
model takes back; such a response holds nothing else and becomes no event."""


class BaseLlmConnection(abc.ABC):
    """A live connection to a model (Spec 1 §17).

    The flow sends and receives at the same time, from one task each. A connection that breaks
    raises ModelConnectionError, or another ProviderError, from whatever waits on it.
    """

    async def send_history(  # noqa: B027 - a connection need not take a history
        self, history: list[types.Content]
    ) -> None:
        """Send the conversation so far, first of all; by default nothing is sent.

        Args:
          history: oldest first; shared with the session and not to be edited. The model answers at
            once where it ends with words of the user's.
        """

    @abc.abstractmethod
    async def send_content(self, content: types.Content) -> None:
        """Send a user message, which the model answers, or function responses."""

    async def send_realtime(  # noqa: B027 - nor sound
        self, blob: types.Blob | types.ActivityStart | types.ActivityEnd
    ) -> None:
        """Send a piece of audio or video, or that the user begins or ends to speak.

        By default nothing is sent, as suits a connection for text alone.
        """

    @abc.abstractmethod
    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the model sends.

        It may end with each turn of the model's, and is then called again; one that yields nothing
        says that the connection was closed.
        """
        raise NotImplementedError(f"{type(self).__name__} does not receive")
        yield  # marks this as an async generator, as every implementation is

    @abc.abstractmethod
    async def close(self) -> None:
        """End the connection."""
