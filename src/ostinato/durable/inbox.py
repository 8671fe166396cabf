"""A user's message while it waits in a session's inbox: as text that another process can run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .. import types
from ..errors import InputValidationError
from ..sessions._durable_store import Place


@dataclass(frozen=True, slots=True)
class Work:
    """What is needed to run a message later, and elsewhere.

    Attributes:
      place: the session.
      invocation_id: the invocation that it begins.
      message: the user's message, or function responses.
      state_delta: state changes that go with it.
      metadata: custom metadata of the invocation's events.
      once: whether the same invocation id may come again; it then starts nothing more.
    """

    place: Place
    invocation_id: str
    message: types.Content | None
    state_delta: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    once: bool = False

    def payload(self) -> str:
        """Return message, state delta and metadata as JSON text.

        Raises:
          InputValidationError: the delta or the metadata hold something that JSON cannot carry.
        """
        content = None
        if self.message is not None:
            content = self.message.model_dump(mode="json", by_alias=True, exclude_none=True)
        fields = {
            "message": content,
            "stateDelta": self.state_delta,
            "customMetadata": self.metadata,
            "once": self.once,
        }
        try:
            return json.dumps(fields, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputValidationError(
                f"The message cannot wait for its turn: its state_delta or custom_metadata holds a "
                f"value that JSON cannot carry ({error})."
            ) from error

    @classmethod
    def read(cls, place: Place, invocation_id: str, payload: str) -> Work:
        """Return the work that `payload` gave the text of."""
        fields: dict[str, Any] = json.loads(payload)
        content = fields.get("message")
        message = None if content is None else types.Content.model_validate(content)
        return cls(
            place,
            invocation_id,
            message,
            fields.get("stateDelta"),
            fields.get("customMetadata"),
            fields.get("once", False),
        )
