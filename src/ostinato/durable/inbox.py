"""Work: a message in a session's inbox, serialized so that any process can run it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .. import types
from ..errors import InputValidationError
from ..sessions.store.durable_store import Place


def dump_content(message: types.Content | None) -> dict[str, Any] | None:
    """Return a message as JSON."""
    if message is None:
        return None
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True, slots=True)
class Work:
    """Everything another process needs to run a message.

    Attributes:
      place: the session.
      invocation_id: the invocation that it begins.
      message: the user's message, or function responses.
      state_delta: state changes that go with it.
      metadata: custom metadata of the invocation's events.
      once: whether a repeated invocation id is deduplicated.
      trace: headers that name the trace of the sender; None if spans are not exported.
    """

    place: Place
    invocation_id: str
    message: types.Content | None
    state_delta: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    once: bool = False
    trace: dict[str, str] | None = None

    def payload(self) -> str:
        """Return message, state delta and metadata as JSON text.

        Raises:
          InputValidationError: JSON cannot carry the delta or the metadata.
        """
        fields: dict[str, Any] = {
            "message": dump_content(self.message),
            "stateDelta": self.state_delta,
            "customMetadata": self.metadata,
            "once": self.once,
        }
        if self.trace:
            fields["trace"] = self.trace
        try:
            return json.dumps(fields, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputValidationError(
                f"The message cannot be enqueued: its state_delta or custom_metadata holds a value "
                f"that JSON cannot carry ({error})."
            ) from error

    @classmethod
    def read(cls, place: Place, invocation_id: str, payload: str) -> Work:
        """Return the work that `payload` serialized."""
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
            fields.get("trace"),
        )
