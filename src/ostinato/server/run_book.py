"""RunBook: the runs that this server has begun for its clients, by session."""

from __future__ import annotations

import asyncio
from typing import Any

from .._log import get_logger
from ..errors import OstinatoError
from ..runners import Runner
from ..running.run import Run
from ..sessions._durable_store import Place
from .problems import Problem

logger = get_logger(__name__)


class RunBook:
    """Starts runs, knows those under way, and ends them in order."""

    def __init__(self) -> None:
        self._runs: dict[Place, list[Run]] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._news: dict[Place, asyncio.Event] = {}
        self._closed = False
        self._hurry = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watchers)

    def start(self, runner: Runner, place: Place, **request: Any) -> Run:
        """Start a run; it goes on to its end unless it is cancelled.

        Args:
          runner: runs the app.
          place: the session.
          request: as `Runner.start` takes it.

        Raises:
          Problem: the server is about to end.
        """
        if self._closed:
            raise Problem(
                503,
                "Draining",
                "This server is about to end and takes no more runs.",
                headers={"Retry-After": "1"},
            )
        run = runner.start(user_id=place.user_id, session_id=place.session_id, **request)
        self._runs.setdefault(place, []).append(run)
        watcher = asyncio.create_task(self._watch(place, run), name="ostinato-run-book")
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        self.stir(place)
        return run

    async def _watch(self, place: Place, run: Run) -> None:
        try:
            await run.result()
        except OstinatoError as error:
            logger.info("A run in session %s ended: %s", place.session_id, error)
        except asyncio.CancelledError:
            if not run.done:
                raise
        except Exception:  # boundary: the client was told; here it is for the developer
            logger.exception("A run in session %s failed.", place.session_id)
        finally:
            runs = self._runs[place]
            runs.remove(run)
            if not runs:
                del self._runs[place]
            self.stir(place)

    def of(self, place: Place) -> list[Run]:
        """Return the runs of a session that are under way here, in the order they came."""
        return [run for run in self._runs.get(place, ()) if not run.done]

    def stir(self, place: Place) -> None:
        """Wake those who wait for news of a session."""
        waiting = self._news.pop(place, None)
        if waiting is not None:
            waiting.set()

    async def news(self, place: Place, seconds: float) -> None:
        """Wait until something may have changed in a session, but no longer than this."""
        waiting = self._news.setdefault(place, asyncio.Event())
        try:
            await asyncio.wait_for(waiting.wait(), seconds)
        except TimeoutError:
            if self._news.get(place) is waiting:
                del self._news[place]
                waiting.set()

    def hurry(self) -> None:
        """Have `drain` wait for nothing more."""
        self._hurry.set()

    async def drain(self, grace: float) -> None:
        """Start nothing more; wait for what runs, and hand over what is left after the grace time.

        Args:
          grace: seconds.
        """
        self._closed = True
        if self._watchers:
            hurried = asyncio.create_task(self._hurry.wait())
            ended = asyncio.create_task(asyncio.wait(set(self._watchers)))
            await asyncio.wait({hurried, ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            ended.cancel()
        left = [run for runs in self._runs.values() for run in runs if not run.done]
        if left:
            logger.warning("%d run(s) are handed over to other processes.", len(left))
            await asyncio.gather(*(run.hand_over() for run in left))
        if self._watchers:
            await asyncio.wait(set(self._watchers))
        for place in list(self._news):
            self.stir(place)
