"""Engine: what makes sure that requests are run, by some process, at least once.

An engine delivers; it decides nothing. Whether an invocation has begun, is finished or goes on
elsewhere stands in the session's log and lease, and no step of it is recorded a second time.
Engines are in `workers/`.
"""

from __future__ import annotations

from typing import Protocol

from .inbox import Work


class Engine(Protocol):
    """Takes requests in durably, and runs them in this process or in another one."""

    async def submit(self, work: Work) -> str:
        """Accept a request; once this returns, it outlives this process.

        Args:
          work: the request. One whose invocation id came before starts nothing more where its
            `once` is set.

        Returns:
          The invocation id.

        Raises:
          SessionNotFoundError: there is no such session.
        """
        ...

    async def serve(self, *, drain: bool = False) -> None:
        """Run requests, and what dead processes left open, until `stop`.

        Args:
          drain: return as soon as nothing is left to do.
        """
        ...

    def stop(self) -> None:
        """Let `serve` take nothing more, let what runs come to its end within a time, hand over the
        rest, and return. Called in the event loop of `serve`; the second call waits for nothing.
        """
        ...
