"""How a person names a call that waits: by the beginning of its id. The run asks."""

from __future__ import annotations

from collections.abc import Iterable

from ..events.pending import Kind, Pending
from .failure import USAGE, CliError


def short_id(one: Pending, others: Iterable[Pending]) -> str:
    """Return the beginning of a waiting call's id that is enough to tell it from the others."""
    full = one.call.id or ""
    rest = [o.call.id or "" for o in others if o is not one]
    for length in range(12, len(full)):
        if not any(other.startswith(full[:length]) for other in rest):
            return full[:length].rstrip("-")
    return full


def find(waiting: list[Pending], wanted: str, kinds: tuple[Kind, ...]) -> Pending:
    """Return the waiting call that a person means by an id, or by the beginning of one.

    Raises:
      CliError: there is none, or more than one.
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
    names = ", ".join(f"{short_id(one, waiting)} ({one.tool})" for one in choice)
    if found:
        raise CliError(f"{wanted!r} fits more than one call: {names}. Give more of the id.", USAGE)
    what = "an approval" if "approval" in kinds else "a result"
    raise CliError(
        f"No call {wanted!r} waits for {what} in this session"
        + (f"; these do: {names}." if names else "; none does.")
    )
