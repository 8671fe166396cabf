"""ActiveRuns: the runs and live conversations of this process's clients, by session."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from .._log import CURRENT, UNKNOWN, get_logger, outage_log_of
from ..errors import OstinatoError, StoreError
from ..execution.run_handle import Run
from ..runners import Runner
from ..sessions.base_session_service import BaseSessionService
from ..sessions.store.durable_store import Place
from .problems import Problem, draining_problem, error_id, loggable_text

logger = get_logger(__name__)


class ActiveRuns:
    """Starts runs, tracks those in progress, and drains them at shutdown."""

    def __init__(self, store: BaseSessionService) -> None:
        self._store = store
        self._runs: dict[Place, list[Run]] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._talks: dict[asyncio.Task[None], Place] = {}
        self._news: dict[Place, asyncio.Event] = {}
        self._closed = False
        self._stop_now = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watchers) + len(self._talks)

    def start_run(self, runner: Runner, place: Place, **request: Any) -> Run:
        """Start a run; it continues to its end unless it is cancelled.

        Raises:
          Problem: the server is shutting down.
        """
        self._check_open()
        run = runner.start(user_id=place.user_id, session_id=place.session_id, **request)
        CURRENT.set(_RunLabel(place, run))  # for the lines of the request that waits for it
        self._runs.setdefault(place, []).append(run)
        watcher = asyncio.create_task(self._watch_run(place, run), name="ostinato-watch-run")
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        self.notify_change(place)
        return run

    def _check_open(self) -> None:
        if self._closed:
            raise draining_problem("This server is shutting down and accepts no more runs.")

    def start_conversation(
        self, place: Place, talk: Coroutine[Any, Any, None]
    ) -> asyncio.Task[None]:
        """Start a live conversation, which `drain` cancels after the grace time.

        Raises:
          Problem: the server is shutting down.
        """
        try:
            self._check_open()
        except Problem:
            talk.close()
            raise
        task = asyncio.create_task(talk, name="ostinato-live")
        self._talks[task] = place
        task.add_done_callback(self._end_conversation)
        self.notify_change(place)
        return task

    def _end_conversation(self, task: asyncio.Task[None]) -> None:
        self.notify_change(self._talks.pop(task))

    def is_running_here(self, place: Place) -> bool:
        """Return whether a run or a live conversation of this process uses a session."""
        return bool(self.runs_of(place)) or place in self._talks.values()

    def running_places(self) -> set[Place]:
        """Return the sessions that a run or a live conversation of this process uses."""
        return {place for place, runs in self._runs.items() if runs} | set(self._talks.values())

    async def _watch_run(self, place: Place, run: Run) -> None:
        label = _RunLabel(place, run)
        CURRENT.set(label)  # for the lines of this task
        try:
            await run.result()
        except StoreError as error:
            outage_log_of(self._store).note_failure(error)
        except OstinatoError as error:
            logger.info("A run in session %s ended: %s", loggable_text(place.session_id), error)
        except Exception as error:  # boundary: the client gets type and id, the log the details
            logger.exception(
                "A run in session %s failed (error %s, invocation %s).",
                loggable_text(place.session_id),
                error_id(error),
                label.invocation_id,
            )
        finally:
            runs = self._runs[place]
            runs.remove(run)
            if not runs:
                del self._runs[place]
            self.notify_change(place)

    def runs_of(self, place: Place) -> list[Run]:
        """Return this process's unfinished runs of a session, in the order of their start."""
        return [run for run in self._runs.get(place, ()) if not run.done]

    def notify_change(self, place: Place) -> None:
        """Wake the tasks that wait for a change of a session."""
        waiting = self._news.pop(place, None)
        if waiting is not None:
            waiting.set()

    async def wait_for_change(self, place: Place, seconds: float) -> None:
        """Wait until a session may have changed, for at most the given time."""
        waiting = self._news.setdefault(place, asyncio.Event())
        try:
            await asyncio.wait_for(waiting.wait(), seconds)
        except TimeoutError:
            if self._news.get(place) is waiting:
                del self._news[place]
                waiting.set()

    def stop_now(self) -> None:
        """End the grace time of `drain` now."""
        self._stop_now.set()

    async def drain(self, grace: float) -> None:
        """Refuse new runs, wait for those in progress, then hand over the rest."""
        self._closed = True
        if len(self):
            stopped = asyncio.create_task(self._stop_now.wait())
            ended = asyncio.create_task(asyncio.wait({*self._watchers, *self._talks}))
            await asyncio.wait({stopped, ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            ended.cancel()
        left = [run for runs in self._runs.values() for run in runs if not run.done]
        if left:
            logger.warning("Handing over %d run(s) to other processes.", len(left))
            await asyncio.gather(*(run.hand_over() for run in left))
        for talk in list(self._talks):
            talk.cancel()
        if len(self):
            await asyncio.wait({*self._watchers, *self._talks})
        for place in list(self._news):
            self.notify_change(place)


@dataclass(frozen=True, slots=True)
class _RunLabel:
    """The session and the run of a task, for the task's log records."""

    place: Place
    run: Run

    @property
    def invocation_id(self) -> str:
        """The invocation; `-` until the run has its first event."""
        return next((one.invocation_id for one in self.run.so_far()), UNKNOWN)
