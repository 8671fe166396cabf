"""Waiting calls by id prefix, as a person names them on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from .. import types
from ..events.event import Event
from ..events.pending import Kind, Pending
from .call_view import call_name
from .cli_error import ANSWERED, USAGE, CliError
from .escape import reveal
from .printer import answer_text


def short_id(one: Pending, others: Iterable[Pending]) -> str:
    """Return the shortest prefix of a waiting call's id that no other call shares."""
    full = one.call.id or ""
    rest = [o.call.id or "" for o in others if o is not one]
    for length in range(12, len(full)):
        if not any(other.startswith(full[:length]) for other in rest):
            return full[:length].rstrip("-")
    return full


def find_call(
    waiting: list[Pending], wanted: str, kinds: tuple[Kind, ...], events: Iterable[Event] = ()
) -> Pending:
    """Return the waiting call that a person means by an id, or by the beginning of one.

    Args:
      waiting: the calls that wait.
      wanted: the id, or its beginning.
      kinds: the kinds of call that the answer fits.
      events: the session's events; they show whether a call was already answered.

    Raises:
      CliError: no call matches, several match, or the call was already answered.
    """
    choice = [one for one in waiting if one.kind in kinds]
    exact = [one for one in choice if wanted in (one.call.id, one.tool_call_id)]
    found = exact or [
        one
        for one in choice
        if (one.call.id or "").startswith(wanted) or one.tool_call_id.startswith(wanted)
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{short_id(one, waiting)} ({call_name(one)})" for one in choice)
    if found:
        raise CliError(
            f"{wanted!r} matches more than one call: {names}. Give more of the id.", USAGE
        )
    before = _answered_before(events, wanted)
    if before:
        raise CliError(before, ANSWERED)
    what = "an approval" if "approval" in kinds else "a result"
    raise CliError(
        f"No call {wanted!r} waits for {what} in this session"
        + (f"; these do: {names}." if names else "; none does.")
    )


def _answered_before(events: Iterable[Event], wanted: str) -> str:
    """Return how the call that a person means was answered, or an empty text if it was not."""
    calls: dict[str, types.FunctionCall] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.id in (event.long_running_tool_ids or ()):
                calls[call.id or ""] = call
        for response in event.get_function_responses() if event.author == "user" else ():
            call = calls.get(response.id or "")
            if call is None or not _is_meant(call, wanted):
                continue
            moment = datetime.fromtimestamp(event.timestamp).strftime("%Y-%m-%d %H:%M:%S")
            return (
                f"Call {reveal(call.id or '')} was already answered, at {moment}: "
                f"{answer_text(response)}. This answer had no effect."
            )
    return ""


def _is_meant(call: types.FunctionCall, wanted: str) -> bool:
    original: Any = (call.args or {}).get("originalFunctionCall")
    tool_call = str(original.get("id", "")) if isinstance(original, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return bool(wanted) and ((call.id or "").startswith(wanted) or tool_call.startswith(wanted))
