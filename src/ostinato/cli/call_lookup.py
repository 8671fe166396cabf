"""Waiting calls by id or its beginning, as a person names them on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from .. import types
from ..events.event import Event
from ..events.pending import Kind, Pending
from .call_view import call_name
from .cli_error import ANSWERED, USAGE, CliError
from .escape import reveal
from .printer import answer_text

# Less of an id does not show that a person read it: "", "adk-", a variable that is not set.
_SHORTEST = 12


def short_id(one: Pending, others: Iterable[Pending]) -> str:
    """Return the shortest prefix of a waiting call's id that no other call shares."""
    full = one.call.id or ""
    rest = [o.call.id or "" for o in others if o is not one]
    for length in range(_SHORTEST, len(full)):
        if not full[:length].endswith("-") and not any(o.startswith(full[:length]) for o in rest):
            return full[:length]
    return full


def is_meant(call_id: str | None, wanted: str) -> bool:
    """Return whether a person means a call by its id or at least 12 characters of it."""
    if not call_id:
        return False
    return call_id == wanted or (len(wanted) >= _SHORTEST and call_id.startswith(wanted))


def find_call(
    waiting: list[Pending],
    wanted: str,
    kinds: tuple[Kind, ...],
    events: Iterable[Event] = (),
    place: str = "this session",
) -> Pending:
    """Return the waiting call that a person means by its id, or by the beginning of it.

    The id of the tool's own call does not name a request: it may be asked about again.

    Args:
      waiting: the calls that wait.
      wanted: the id, or its beginning.
      kinds: the kinds of call that the answer fits.
      events: the session's events; they show whether a call was already answered.
      place: where the calls are from, for the error.

    Raises:
      CliError: no call matches, several match, the beginning is too short, or the call was already
        answered.
    """
    choice = [one for one in waiting if one.kind in kinds]
    found = [one for one in choice if wanted and wanted == one.call.id]
    before = "" if found else _answered_before(events, lambda call_id: call_id == wanted)
    if before:  # the beginning of another call's id, perhaps, but the id of this one
        raise CliError(before, ANSWERED)
    found = found or [one for one in choice if is_meant(one.call.id, wanted)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{short_id(one, waiting)} ({call_name(one)})" for one in choice)
    if found:
        raise CliError(
            f"{wanted!r} matches more than one call: {names}. Give more of the id.", USAGE
        )
    if any((one.call.id or "").startswith(wanted) for one in choice):
        raise CliError(
            f"{wanted!r} is too short to name a call: give at least {_SHORTEST} characters of its "
            f"id. These wait: {names}.",
            USAGE,
        )
    before = _answered_before(events, lambda call_id: is_meant(call_id, wanted))
    if before:
        raise CliError(before, ANSWERED)
    what = "a result"
    if "approval" in kinds:
        what = "an approval" if len(kinds) == 1 else "an answer"
    raise CliError(
        f"No call {wanted!r} waits for {what} in {place}"
        + (f"; these do: {names}." if names else "; none does.")
    )


def _answered_before(events: Iterable[Event], is_wanted: Callable[[str | None], bool]) -> str:
    """Return how the call that a person means was answered, or an empty text if it was not."""
    calls: dict[str, types.FunctionCall] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.id in (event.long_running_tool_ids or ()):
                calls[call.id or ""] = call
        for response in event.get_function_responses() if event.author == "user" else ():
            call = calls.get(response.id or "")
            if call is None or not is_wanted(call.id):
                continue
            moment = datetime.fromtimestamp(event.timestamp).strftime("%Y-%m-%d %H:%M:%S")
            return (
                f"Call {reveal(call.id or '')} was already answered, at {moment}: "
                f"{answer_text(response)}. This answer had no effect."
            )
    return ""
