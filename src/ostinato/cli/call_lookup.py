"""Waiting calls by id or its beginning, as a person names them on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from .. import types
from ..events.event import Event
from ..events.pending import Kind, Pending
from ..events.request_input import QUESTION_ID
from .call_view import call_name
from .cli_error import ANSWERED, USAGE, CliError
from .escape import reveal
from .printer import answer_text

# Less of an id does not show that a person read it: "", "adk-", a variable that is not set.
_SHORTEST = 12
# An id that Ostinato made: what all of them begin with, and a UUID, of which eight digits do.
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OWN_ID = re.compile(rf"(?P<same>(?:{QUESTION_ID})?adk-){_UUID}")
_OWN_DIGITS = 8


def short_id(one: Pending, others: Iterable[Pending]) -> str:
    """Return what names a waiting call, also when other calls wait later.

    That is the shortest prefix of a random id that no other call shares, and all of any other id:
    those of a model may begin alike.
    """
    full = one.call.id or ""
    if not _OWN_ID.fullmatch(full):
        return full
    rest = [o.call.id or "" for o in others if o is not one]
    for length in range(_shortest(full), len(full)):
        if not full[:length].endswith("-") and not any(o.startswith(full[:length]) for o in rest):
            return full[:length]
    return full


def is_unique(call_id: str) -> bool:
    """Return whether an id occurs in one session alone: one with a UUID, unlike a fixed id."""
    return re.search(_UUID, call_id) is not None


def _shortest(call_id: str) -> int:
    """Return how many characters of a call's id name it."""
    own = _OWN_ID.fullmatch(call_id)
    return own.end("same") + _OWN_DIGITS if own else _SHORTEST


def is_meant(call_id: str | None, wanted: str) -> bool:
    """Return whether a person means a call by its id or by enough of it."""
    if not call_id:
        return False
    return call_id == wanted or (len(wanted) >= _shortest(call_id) and call_id.startswith(wanted))


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
    for one in choice:
        if wanted and one.call.id == wanted:
            return one
    found = [one for one in choice if is_meant(one.call.id, wanted)]
    before = _answered_before(events, wanted)
    if before and found:  # the person may have read the call that was answered
        before += " Another call, which waits, begins so, too: give more of its id."
    if before:
        raise CliError(before, ANSWERED)
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{short_id(one, waiting)} ({call_name(one)})" for one in choice)
    if found:
        raise CliError(
            f"{wanted!r} matches more than one call: {names}. Give more of the id.", USAGE
        )
    fits = [one.call.id or "" for one in choice if (one.call.id or "").startswith(wanted)]
    if fits:
        raise CliError(
            f"{wanted!r} is too short to name a call: give at least {_shortest(fits[0])} "
            f"characters of its id. These wait: {names}.",
            USAGE,
        )
    what = "a result"
    if "approval" in kinds:
        what = "an approval" if len(kinds) == 1 else "an answer"
    raise CliError(
        f"No call {wanted!r} waits for {what} in {place}"
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
            if call is None or not is_meant(call.id, wanted):
                continue
            moment = datetime.fromtimestamp(event.timestamp).strftime("%Y-%m-%d %H:%M:%S")
            return (
                f"Call {reveal(call.id or '')} was already answered, at {moment}: "
                f"{answer_text(response)}. This answer had no effect."
            )
    return ""
