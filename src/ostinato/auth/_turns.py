"""Lets one at a time work on a credential: two calls that refresh the same token at once would
spend its refresh token twice. The credential manager enters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary

# By event loop too: a lock belongs to the loop that it was first waited for in.
_locks: WeakValueDictionary[tuple[int, Hashable], asyncio.Lock] = WeakValueDictionary()


def turn_of(owner: Hashable) -> asyncio.Lock:
    """The lock of a credential in the running event loop; it lives while somebody holds it."""
    place = id(asyncio.get_running_loop()), owner
    lock = _locks.get(place)
    if lock is None:
        lock = _locks[place] = asyncio.Lock()
    return lock
