"""Pure functions that say who may append: leases, and appends from outside, alike in every store.

Each store reads its rows, asks here inside the transaction of the append, and writes the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import Any

from ...errors import LeaseLostError, SessionBusyError, StaleSessionError
from ..log.event_log import STATE_DELTA, EventRecord
from ..state import SCOPED_PREFIXES
from .durable_store import LOCAL_FENCE, Claim, Fence, InboxMessage, Lease, Place
from .stored_rows import STALE

# Owner of a lease that was handed over; unlike any real one, so that the invocation comes first.
HANDED_OVER = "-"


def grant_lease(
    place: Place, lease: Lease | None, first: InboxMessage | None, claim: Claim, revision: int
) -> Lease:
    """Return the lease that a claim gets.

    Args:
      lease: the stored one.
      first: the first message in the session's inbox.
      revision: number of the newest stored event.

    Raises:
      SessionBusyError: another owner holds the session, or another owner's message comes first.
      StaleSessionError: the claim was made upon another revision.
    """
    if lease is not None and lease.token != claim.over and lease.owner != "":
        ours = lease.owner == claim.owner
        if lease.left > 0 and not ours:
            raise SessionBusyError(
                f"Invocation {lease.invocation_id!r} runs in session {place.session_id!r}; wait "
                "for it to end, or cancel it."
            )
        # An earlier turn of the same owner counts too: it could not give the session back.
        if lease.invocation_id not in ("", claim.invocation_id):
            raise SessionBusyError(
                f"Invocation {lease.invocation_id!r} was left open in session "
                f"{place.session_id!r}; it comes first."
            )
    if (
        not claim.jump
        and first is not None
        and first.owner != claim.owner
        and first.invocation_id != claim.message
    ):
        raise SessionBusyError(
            f"A message that came earlier waits in session {place.session_id!r}; it is answered "
            f"first, by invocation {first.invocation_id!r}."
        )
    if claim.revision is not None and claim.revision != revision:
        raise StaleSessionError(STALE)
    attempts = 1
    if lease is not None and lease.invocation_id == claim.invocation_id:
        new_attempt = lease.owner != claim.owner or lease.token == claim.over
        attempts = lease.attempts + new_attempt
    return Lease(
        place,
        claim.owner,
        claim.process,
        token=1 + (lease.token if lease is not None else 0),
        left=claim.seconds,
        invocation_id=claim.invocation_id,
        digest=claim.digest,
        attempts=attempts,
    )


def find_skipped_invocation(lease: Lease | None, claim: Claim) -> str:
    """Return the parked invocation that a claim skips, or ''; its journal rows go with it."""
    if lease is None or not lease.stuck or lease.invocation_id == claim.invocation_id:
        return ""
    return lease.invocation_id


def check_fence(fence: Fence, owner: str | None, token: int) -> None:
    """Reject an append whose owner has lost the session.

    A released lease has no other owner yet, so its last one may still append.

    Args:
      owner: the stored owner, '' if the lease was released; None if there is no lease.
      token: the stored token.

    Raises:
      LeaseLostError: the fence is not the stored one.
    """
    if fence is LOCAL_FENCE:
        return
    if owner is None or token != fence.token or owner not in ("", fence.owner):
        raise LeaseLostError(STALE)


def find_clashes(
    batch: Iterable[EventRecord], newer: Iterable[EventRecord], own: Set[str]
) -> set[EventRecord]:
    """Return the events of `batch` that give a key another value than others gave it meanwhile.

    Keys of the session's own state count, shared ones are anybody's.

    Args:
      newer: stored events that the appender has not seen.
      own: ids of those that the appender wrote itself.
    """
    theirs: dict[str, Any] = {}
    for record in newer:
        if record.id not in own:
            theirs.update(_state_delta(record))
    if not theirs:
        return set()
    mine: dict[str, tuple[Any, EventRecord]] = {}
    for record in batch:
        mine.update((key, (value, record)) for key, value in _state_delta(record).items())
    return {
        record
        for key, (value, record) in mine.items()
        if key in theirs and _to_json(value) != _to_json(theirs[key])
    }


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # because 1 == True == 1.0


def _state_delta(record: EventRecord) -> dict[str, Any]:
    if not record.kinds & STATE_DELTA:
        return {}
    delta: dict[str, Any] = json.loads(record.data)["actions"]["stateDelta"]
    return {key: value for key, value in delta.items() if not key.startswith(SCOPED_PREFIXES)}
