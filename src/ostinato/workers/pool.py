"""WorkerPool: an engine without a scheduler.

Any number of processes poll one store for queued messages and abandoned invocations.
"""

from __future__ import annotations

import time

from .._log import outage_log_of
from ..durable.inbox import Work
from ..errors import InputValidationError
from ..runners import Runner
from .deliveries import Deliveries
from .work_poller import WorkPoller


class WorkerPool:
    """Runs queued and abandoned work in the store of a runner; an `Engine`.

    Args:
      runner: runs the app's agents; processes must share its session service.
      concurrency: how many invocations at once in this process.
      grace_seconds: how long invocations may run after `stop`; the rest is handed over.

    Raises:
      InputValidationError: no other process reaches the store, or `concurrency` is not positive.
    """

    def __init__(
        self, runner: Runner, *, concurrency: int = 10, grace_seconds: float = 30.0
    ) -> None:
        if concurrency < 1:
            raise InputValidationError(f"concurrency must be 1 or more, not {concurrency}.")
        self._backlog = runner.backlog()
        self._poller = WorkPoller(self._backlog, outage_log_of(self._backlog.store))
        self._deliveries = Deliveries(self._backlog, self._poller.wake)
        self._concurrency = concurrency
        self._grace = grace_seconds

    @property
    def failed(self) -> int:
        """How many invocations of this process failed or were parked."""
        return self._deliveries.failed

    async def submit(self, work: Work) -> str:
        """Accept a request; see `Engine`."""
        return await self._backlog.put(work)

    def stop(self) -> None:
        """End `serve`; see `Engine`."""
        self._poller.stop()

    async def serve(self, *, drain: bool = False) -> None:
        """Run work until `stop`; see `Engine`.

        During an outage of the store it keeps polling.

        Raises:
          StoreError: the store does not answer at the start, or during a drain.
        """
        poller, running = self._poller, self._deliveries
        poller.patient = not drain
        try:
            while not poller.stops:
                room = self._concurrency - len(running)
                found = await poller.look(room, running.places())
                for one in found:
                    running.begin(one)
                if drain and not found and not len(running):
                    return
                await poller.rest()
        finally:
            end = time.monotonic() + self._grace
            while len(running) and poller.stops < 2 and time.monotonic() < end:
                await poller.wait_for_wake(end - time.monotonic())
            await running.end()
