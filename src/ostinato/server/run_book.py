"""RunBook: the runs that this server has begun for its clients, by session."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
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
        self._talks: dict[asyncio.Task[None], Place] = {}
        self._news: dict[Place, asyncio.Event] = {}
        self._closed = False
        self._hurry = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watchers) + len(self._talks)

    def start(self, runner: Runner, place: Place, **request: Any) -> Run:
        """Start a run; it goes on to its end unless it is cancelled.

        Args:
          runner: runs the app.
          place: the session.
          request: as `Runner.start` takes it.

        Raises:
          Problem: the server is about to end.
        """
        self._check_open()
        run = runner.start(user_id=place.user_id, session_id=place.session_id, **request)
        self._runs.setdefault(place, []).append(run)
        watcher = asyncio.create_task(self._watch(place, run), name="ostinato-run-book")
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        self.stir(place)
        return run

    def _check_open(self) -> None:
        if self._closed:
            raise Problem(
                503,
                "Draining",
                "This server is about to end and takes no more runs.",
                headers={"Retry-After": "1"},
            )

    def hold(self, place: Place, talk: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have a live conversation among the runs; `drain` cancels what is left of it.

        Args:
          place: the session.
          talk: the conversation.

        Raises:
          Problem: the server is about to end.
        """
        try:
            self._check_open()
        except Problem:
            talk.close()
            raise
        task = asyncio.create_task(talk, name="ostinato-live")
        self._talks[task] = place
        task.add_done_callback(self._end_talk)
        self.stir(place)
        return task

    def _end_talk(self, task: asyncio.Task[None]) -> None:
        self.stir(self._talks.pop(task))

    def is_here(self, place: Place) -> bool:
        """Tell whether something runs in a session here, a live conversation too."""
        return bool(self.of(place)) or place in self._talks.values()

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
        if len(self):
            hurried = asyncio.create_task(self._hurry.wait())
            ended = asyncio.create_task(asyncio.wait({*self._watchers, *self._talks}))
            await asyncio.wait({hurried, ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            ended.cancel()
        left = [run for runs in self._runs.values() for run in runs if not run.done]
        if left:
            logger.warning("%d run(s) are handed over to other processes.", len(left))
            await asyncio.gather(*(run.hand_over() for run in left))
        for talk in list(self._talks):
            talk.cancel()
        if len(self):
            await asyncio.wait({*self._watchers, *self._talks})
        for place in list(self._news):
            self.stir(place)
