"""WorkerPool: an engine without a scheduler. Any number of processes look into one store for
messages that wait and for invocations whose owner is gone, and run them.
"""

from __future__ import annotations

import time

from ..durable.inbox import Work
from ..errors import InputValidationError
from ..runners import Runner
from .deliveries import Deliveries
from .lookout import Lookout


class WorkerPool:
    """Runs what waits in the store of a runner; an `Engine`.

    Args:
      runner: runs the app's agents; its session service has to be one that processes share.
      concurrency: how many invocations at once in this process.
      grace_seconds: how long running invocations may go on after `stop`; the rest is handed over.

    Raises:
      InputValidationError: no other process reaches the store, or `concurrency` is not positive.
    """

    def __init__(
        self, runner: Runner, *, concurrency: int = 10, grace_seconds: float = 30.0
    ) -> None:
        if concurrency < 1:
            raise InputValidationError(f"concurrency has to be 1 or more, not {concurrency}.")
        self._backlog = runner.backlog()
        self._lookout = Lookout(self._backlog)
        self._deliveries = Deliveries(self._backlog, self._lookout.stir)
        self._concurrency = concurrency
        self._grace = grace_seconds

    @property
    def failed(self) -> int:
        """How many of the invocations that ran here have failed or were parked."""
        return self._deliveries.failed

    async def submit(self, work: Work) -> str:
        """Accept a request; see `Engine`."""
        return await self._backlog.put(work)

    def stop(self) -> None:
        """End `serve`; see `Engine`."""
        self._lookout.stop()

    async def serve(self, *, drain: bool = False) -> None:
        """Run what waits, until `stop`; see `Engine`.

        A store that stops answering is asked again.

        Raises:
          StoreError: the store does not answer at the start, or while it is drained.
        """
        lookout, running = self._lookout, self._deliveries
        lookout.patient = not drain
        try:
            while not lookout.stops:
                room = self._concurrency - len(running)
                found = await lookout.look(room, running.places())
                for one in found:
                    running.begin(one)
                if drain and not found and not len(running):
                    return
                await lookout.rest()
        finally:
            end = time.monotonic() + self._grace
            while len(running) and lookout.stops < 2 and time.monotonic() < end:
                await lookout.stirred(end - time.monotonic())
            await running.end()
