"""Engine: the port that delivers requests to a process at least once; see `workers/`.

An engine only delivers: the session's log and lease alone record the state of an invocation.
"""

from __future__ import annotations

from typing import Protocol

from .inbox import Work


class Engine(Protocol):
    """Accepts requests durably, and runs them in this process or in another one."""

    async def submit(self, work: Work) -> str:
        """Accept a request; once this returns, it survives a crash of this process.

        Args:
          work: the request. With `once` set, a known invocation id starts nothing.

        Returns:
          The invocation id.

        Raises:
          SessionNotFoundError: there is no such session.
        """
        ...

    async def serve(self, *, drain: bool = False) -> None:
        """Run requests and abandoned invocations until `stop`.

        Args:
          drain: return as soon as no work is left.

        Raises:
          StoreError: the store does not answer.
        """
        ...

    def stop(self) -> None:
        """Let `serve` take no more work, finish what runs within the grace period, hand over the
        rest and return. Call it in the event loop of `serve`; a second call skips the wait.
        """
        ...
