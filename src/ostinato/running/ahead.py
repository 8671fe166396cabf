"""What lies before a request in its session: a run of another process, one that a dead process left
behind, or messages that came first.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from ..durable.lease import LeaseKeeper
from ..durable.process import is_dead
from ..sessions._durable_store import DurableStore, InboxMessage, Lease, Place


class Busy(Enum):
    """Somebody who is alive is at it, or comes first."""

    BUSY = 1


BUSY: Final = Busy.BUSY


async def ahead_of(
    durable: DurableStore, keeper: LeaseKeeper, place: Place, message_id: str | None
) -> Lease | InboxMessage | Busy | None:
    """Return what has to be done or waited for first.

    Args:
      durable: the store.
      keeper: the leases of this process, which holds the session's lock.
      place: the session.
      message_id: the caller's own message.

    Returns:
      The lease of an invocation that nobody runs any more, a message whose caller is gone, BUSY, or
      None where the way is free.
    """
    lease = await durable.lease(place)
    if lease is not None and is_open(lease) and lease.owner != keeper.owner:
        return lease if is_left(lease) else BUSY
    first = next(iter(await durable.messages(place)), None)
    # Callers of this process come in the order of its lock, which is that of their messages; were
    # they to wait for others between these, two processes could wait for each other.
    if first is None or first.invocation_id == message_id or first.owner == keeper.owner:
        return None
    if not first.owner or first.left <= 0 or is_dead(first.process):
        return first
    return BUSY


def is_open(lease: Lease) -> bool:
    """Tell whether an invocation was begun under a lease and not released."""
    return bool(lease.invocation_id) and not lease.stuck


def is_left(lease: Lease) -> bool:
    """Tell whether nobody runs the lease's invocation any more."""
    return lease.left <= 0 or is_dead(lease.process)
