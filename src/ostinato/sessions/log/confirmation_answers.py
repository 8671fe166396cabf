"""The form of a person's answer to a request for confirmation, and the first answer of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ...auth.tool_confirmation import ToolConfirmation
from ...errors import CallAlreadyAnsweredError, StaleSessionError
from ..store.durable_store import CallAnswer


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


def may_claim(
    answer: CallAnswer, answered: float | None, stored: str | None, message_id: str | None
) -> bool:
    """Return whether an answer is to be written to its row.

    Args:
      answer: the answer.
      answered: when the call was answered; None if it is open.
      stored: the answer that is stored.
      message_id: the message that answered it.

    Raises:
      CallAlreadyAnsweredError: another message has answered the call.
    """
    if answered is None:
        return True
    if answer.once and message_id != answer.message_id:
        raise already_answered(answer.call_id, stored, answered)
    return False


def may_add_row(answer: CallAnswer, revision: int | None) -> bool:
    """Return whether an answer to a call without a row makes the call's row.

    Args:
      answer: the answer.
      revision: number of the newest stored event; None for a run that holds the session, whose
        claim has compared it.

    Raises:
      StaleSessionError: newer events may have answered or withdrawn the call since the answer was
        checked, and the row went with them.
    """
    if answer.request is None:
        return False
    if revision not in (None, answer.seen):
        raise StaleSessionError(
            f"The session changed while the answer to call {answer.call_id!r} was checked. Reload "
            "the session and check the answer again."
        )
    return True


def already_answered(
    call_id: str, answer: str | None, answered_at: float | None
) -> CallAlreadyAnsweredError:
    """Return the error for a call that has an answer.

    Args:
      call_id: the call.
      answer: the first answer as JSON text.
      answered_at: when it was accepted, in seconds since 1970.
    """
    return CallAlreadyAnsweredError(
        f"Call {call_id!r} was answered before; this answer changes nothing and runs nothing.",
        call_id=call_id,
        answer=None if answer is None else json.loads(answer),
        answered_at=answered_at,
    )
