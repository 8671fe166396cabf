"""Runs a coroutine to its end from plain code. The authentication handler calls it where ADK's
interface is not asynchronous although a server has to be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what the coroutine returns, in an event loop of its own.

    In a worker thread, where plain tools run, it runs right there. On a thread whose event loop is
    running, that loop stands still until the work is done.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()
