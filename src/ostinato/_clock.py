"""The only source of time and of ids, so that a test or a replay can put its own in place.

Programs do so by `ostinato.platform.time` and `ostinato.platform.uuid`.

Every record that is stamped (events, artifacts, records of the stores) calls `now` and `new_id`.
Order is the log's sequence number; a timestamp is for people, and rises strictly within one
process.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

_lock = threading.Lock()
_last = 0.0


_BATCH = 64
_ready: list[str] = []


def _random_id() -> str:
    """Return a version 4 UUID as text, as `str(uuid.uuid4())` would, at a sixth of its cost."""
    while True:
        try:
            h = _ready.pop()
        except IndexError:
            # One call to the system for many ids; list.pop is atomic, so threads may share them.
            bits = os.urandom(16 * _BATCH).hex()
            _ready.extend([bits[at : at + 32] for at in range(0, len(bits), 32)])
            continue
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"


# A forked child must not make its parent's ids.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ready.clear)


_time_source: Callable[[], float] = time.time
_id_source: Callable[[], str] = _random_id


def now() -> float:
    """Return the time in seconds since 1970, strictly greater than every earlier answer in this
    process.
    """
    global _last
    with _lock:
        stamp = _time_source()
        if stamp <= _last:
            stamp = math.nextafter(_last, math.inf)
        _last = stamp
    return stamp


def new_id() -> str:
    """Return a new unique id: 36 characters in the form of a version 4 UUID."""
    return _id_source()


def unique_id() -> str:
    """Return an id that no other source of ids makes: for files and processes, not for records."""
    return _random_id()


def use_sources(
    *, time: Callable[[], float] | None = None, ids: Callable[[], str] | None = None
) -> None:
    """Put another source of time (seconds since 1970) or of ids in place, until the next call."""
    global _time_source, _id_source, _last
    _time_source, _id_source = time or _time_source, ids or _id_source
    _last = 0.0 if time else _last


def use_system_time() -> None:
    """Take the system's time again."""
    use_sources(time=time.time)


def use_random_ids() -> None:
    """Make random ids again."""
    use_sources(ids=_random_id)


@contextmanager
def replace_sources(
    *, time: Callable[[], float] | None = None, ids: Callable[[], str] | None = None
) -> Generator[None]:
    """Put another source of time (seconds) or of ids in place for the length of a `with` block."""
    global _time_source, _id_source, _last
    before = (_time_source, _id_source, _last)
    use_sources(time=time, ids=ids)
    try:
        yield
    finally:
        _time_source, _id_source, _last = before
