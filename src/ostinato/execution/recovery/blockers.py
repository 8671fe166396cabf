"""Blockers of a request: a run of another process, an abandoned invocation, earlier messages."""

from __future__ import annotations

from enum import Enum
from typing import Final

from ...durable.lease import LeaseKeeper
from ...durable.process_identity import is_dead
from ...sessions.store.durable_store import InboxMessage, Lease, Place
from ..store_access import StoreAccess


class Busy(Enum):
    """A live owner runs in the session, or has an earlier message."""

    BUSY = 1


BUSY: Final = Busy.BUSY


async def next_blocker(
    store: StoreAccess, keeper: LeaseKeeper, place: Place, message_id: str | None
) -> Lease | InboxMessage | Busy | None:
    """Return what must run or finish before a request.

    Args:
      store: the store; it is one that processes share.
      keeper: the leases of this process, which holds the session's lock.
      place: the session.
      message_id: the caller's own message.

    Returns:
      The lease of an abandoned invocation, a message of a dead process, BUSY, or None if the
      session is free.
    """
    durable = store.durable
    assert durable is not None
    lease = await durable.lease(place)
    if lease is not None and is_open(lease):
        if lease.owner != keeper.owner:
            return lease if is_abandoned(lease) else BUSY
        if await is_own_abandoned(store, keeper, lease):
            return lease
    first = next(iter(await durable.messages(place)), None)
    # Callers of this process come in the order of its lock, which is that of their messages.
    # Waiting for other messages between these could deadlock two processes.
    if first is None or first.invocation_id == message_id or first.owner == keeper.owner:
        return None
    if not first.owner or first.left <= 0 or is_dead(first.process):
        return first
    return BUSY


async def is_own_abandoned(store: StoreAccess, keeper: LeaseKeeper, lease: Lease) -> bool:
    """Return whether an ended turn of this process still holds a lease in the store.

    The store failed when the turn tried to release it.

    Args:
      store: the store.
      keeper: the leases of this process, which holds the session's lock.
      lease: the lease, as read.
    """
    if lease.owner != keeper.owner or keeper.holds(lease.place, lease.token):
        return False
    await store.flush()  # its release may be under way
    assert store.durable is not None
    now = await store.durable.lease(lease.place)
    return now is not None and is_open(now) and now.token == lease.token


def is_open(lease: Lease) -> bool:
    """Return whether a lease has an invocation that is neither released nor parked."""
    return bool(lease.invocation_id) and not lease.stuck


def is_abandoned(lease: Lease) -> bool:
    """Return whether the owner of a lease is gone."""
    return lease.left <= 0 or is_dead(lease.process)
