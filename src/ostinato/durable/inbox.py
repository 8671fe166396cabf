"""A user's message while it waits in a session's inbox: as text that another process can run."""

from __future__ import annotations

import json
from typing import Any

from .. import types
from ..errors import InputValidationError


def message_text(
    message: types.Content | None,
    state_delta: dict[str, Any] | None,
    custom_metadata: dict[str, Any] | None,
) -> str:
    """Return what is needed to run a message later, as JSON text.

    Raises:
      InputValidationError: the state delta or the metadata hold something that JSON cannot carry.
    """
    content = None
    if message is not None:
        content = message.model_dump(mode="json", by_alias=True, exclude_none=True)
    try:
        return json.dumps(
            {"message": content, "stateDelta": state_delta, "customMetadata": custom_metadata},
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InputValidationError(
            f"The message cannot wait for its turn: its state_delta or custom_metadata holds a "
            f"value that JSON cannot carry ({error})."
        ) from error


def read_message(
    text: str,
) -> tuple[types.Content | None, dict[str, Any] | None, dict[str, Any] | None]:
    """Return message, state delta and metadata of a message's text."""
    fields: dict[str, Any] = json.loads(text)
    content = fields.get("message")
    message = None if content is None else types.Content.model_validate(content)
    return message, fields.get("stateDelta"), fields.get("customMetadata")
