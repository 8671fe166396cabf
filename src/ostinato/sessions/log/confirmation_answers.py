"""The form of a person's answer to a request for confirmation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ...auth.tool_confirmation import ToolConfirmation


def check_confirmation(response: Mapping[str, Any]) -> None:
    """Check that an answer decides in so many words.

    `read_confirmation` also reads what earlier versions have stored.

    Args:
      response: as for `read_confirmation`.

    Raises:
      ValueError: `confirmed` is missing or is neither true nor false, or the answer is something
        else.
    """
    fields = _read_fields(response)
    if not isinstance(fields.get("confirmed"), bool):
        raise ValueError("'confirmed' is to be true or false")
    read_confirmation(response)


def read_confirmation(
    response: Mapping[str, Any],
) -> tuple[ToolConfirmation, dict[str, Any] | None]:
    """Return the decision in an answer, and the edited arguments of the call or None.

    Args:
      response: `confirmed`, with `hint`, `payload` and `args` if given; some clients wrap all of
        that as JSON text in `response`.

    Raises:
      ValueError: it is something else.
    """
    fields = _read_fields(response)
    edited: Any = fields.pop("args", None)
    if edited is not None and not isinstance(edited, dict):
        raise ValueError("'args' is no object")
    return ToolConfirmation.model_validate(fields), cast("dict[str, Any] | None", edited)


def _read_fields(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer, without the JSON text that may wrap them."""
    fields: Any = dict(response)
    wrapped = response.get("response")
    if len(response) == 1 and isinstance(wrapped, str):
        try:
            fields = json.loads(wrapped)
        except (ValueError, RecursionError):
            raise ValueError("'response' is no JSON text") from None
        if not isinstance(fields, dict):
            raise ValueError("'response' is no JSON object")
    return cast("dict[str, Any]", fields)
