"""Threads for the connections to a SQLite file: one writes in groups, others read.

An embedded store hands them jobs from any event loop; an answer goes back to the loop it came
from, in one call per group and loop. No loop ever waits for a disk, a lock or another loop. Where
a commit waits for no disk, a loop that is alone with its job runs it itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from ...errors import StoreError
from .sqlite_connection import Answer, FileIdentity, Job, SqliteConnection, forks
from .sqlite_file import MEMORY, SqliteFile

_GROUP = 256  # jobs in one commit at most

_R = TypeVar("_R")
_A = TypeVar("_A")


class Worker:
    """Daemon threads that run jobs against one SQLite file; started and connected at first use.

    Args:
      file: the file.
      writes: one thread, jobs that wait together share a transaction, each in a savepoint of its
        own; otherwise each job runs by itself and has to read only.
      threads: how many.
      found: what is known of the file; shared by those who work on it together.
      alone: whether a brief job that waits for no other is run by the one who has it; for a writer.
    """

    def __init__(
        self,
        file: SqliteFile,
        *,
        writes: bool,
        threads: int = 1,
        found: FileIdentity,
        alone: bool = False,
    ) -> None:
        self._file = file
        self._forks = 0
        self._writes = writes
        self._connections = [
            SqliteConnection(file, writes=writes, found=found, alone=alone) for _ in range(threads)
        ]
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def has_begun(self) -> bool:
        """Whether it was given any job."""
        return bool(self._threads)

    def submit(
        self,
        work: Callable[[sqlite3.Connection], _A],
        show: Callable[[_A], _R],
        *,
        brief: bool = False,
    ) -> asyncio.Future[_R]:
        """Queue a job, or run it at once.

        Args:
          work: called with a connection, mostly in a thread; for a writer, inside a transaction.
          show: called with the answer of `work` in the caller's event loop, once it is committed,
            even if the future was cancelled.
          brief: whether `work` touches a few rows only, so that the caller may run it at once.

        Returns:
          A future of the answer of `show`; its error is a StoreError or what `work` raised.

        Raises:
          StoreError: the store has been closed, or belongs to the process that forked this one.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_R] = loop.create_future()
        job = Job(work, show, loop, future)
        if not brief or not self._connections[0].run_alone(job):
            self._enqueue(job)
        return future

    def post(
        self,
        work: Callable[[sqlite3.Connection], object],
        *,
        brief: bool = False,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Queue a job whose result no caller awaits.

        Args:
          work, brief: as for `submit`.
          on_error: called with the error of `work`, in any thread; without it, the error is logged.

        Raises:
          StoreError: as `submit`.
        """
        job = Job(work, _ignore_result, on_error=on_error)
        if not brief or not self._connections[0].run_alone(job):
            self._enqueue(job)

    def _enqueue(self, job: Job) -> None:
        if self._threads and self._forks != forks[0]:  # asked before any lock is taken
            raise StoreError(
                f"The {self._file.name} was opened before this process was forked; make a new "
                f"{self._file.format.service} in each process."
            )
        with self._gate:
            if self._closed:
                raise StoreError(
                    f"The {self._file.name} has been closed; make a new "
                    f"{self._file.format.service}."
                )
            if not self._threads:
                self._start_threads()
            self._connections[0].note_waiting()
            self._queue.put(job)

    def stop(self) -> list[threading.Thread]:
        """Let the threads finish what is queued, close their connections and end.

        Returns:
          The threads, for a caller that wants to join them.
        """
        if self._threads and self._forks != forks[0]:
            return []  # they are the parent's
        with self._gate:
            if not self._closed:
                self._closed = True
                self._connections[0].closing = True
                for _ in self._threads:
                    self._queue.put(None)
            return self._threads

    def _start_threads(self) -> None:
        # A thread must not keep its Worker alive: it stops when the Worker has no other reference.
        self._forks = forks[0]
        kind, most = ("writer", _GROUP) if self._writes else ("reader", 1)
        self._threads = [
            threading.Thread(
                target=_Lane(connection, self._queue, most).run_jobs,
                name=f"ostinato-sqlite-{kind}-{n}",
                daemon=True,
            )
            for n, connection in enumerate(self._connections)
        ]
        for thread in self._threads:
            thread.start()


class Threads:
    """The threads of one store: a writer, and readers beside it where a file holds the data.

    They end when the store is closed or has no reference left.

    Args:
      file: the file.
      readers: how many threads read.
      alone: whether a loop that is alone with what it writes does so itself, which takes a tenth of
        the time of waking a thread and being woken; only for commits that wait for no disk.
    """

    def __init__(self, file: SqliteFile, *, readers: int, alone: bool = False) -> None:
        found = FileIdentity(file)
        alone = alone and file.path != MEMORY
        self.writer = self.reader = Worker(file, writes=True, found=found, alone=alone)
        if file.path != MEMORY:
            self.reader = Worker(file, writes=False, threads=readers, found=found)
        self._finalizer = weakref.finalize(self, _stop_workers, self.writer, self.reader)

    async def close(self) -> None:
        """Commit what is queued, close the file and end the threads; harmless when repeated."""
        loop = asyncio.get_running_loop()
        # The writer last, alone: the last one to close empties the write-ahead log, and of two that
        # close at the same time neither may be the last.
        for worker in (self.reader, self.writer):
            for thread in worker.stop():
                await loop.run_in_executor(None, thread.join)


def _stop_workers(writer: Worker, reader: Worker) -> None:
    reader.stop()
    writer.stop()


class _Lane:
    """What a thread of a Worker does."""

    def __init__(
        self, connection: SqliteConnection, queue: SimpleQueue[Job | None], most: int
    ) -> None:
        self._connection = connection
        self._queue = queue
        self._most = most

    def run_jobs(self) -> None:
        """Run jobs until the queue ends; the body of each thread."""
        ended = False
        while not ended:
            group, ended = self._wait_for_jobs()
            with self._connection.lock:
                done = self._connection.run_jobs(group)
            self._send_answers(done)
            del done
            group.clear()  # keep no job alive while waiting for the next
        with self._connection.lock:
            self._connection.close()

    def _wait_for_jobs(self) -> tuple[list[Job], bool]:
        """Wait for jobs; return those there are, and whether to end after them."""
        job = self._queue.get()
        group: list[Job] = []
        more = min(self._queue.qsize(), self._most - 1)
        while job is not None:
            group.append(job)
            if len(group) > more:
                return group, False
            job = self._queue.get()
        return group, True

    def _send_answers(self, done: list[Answer]) -> None:
        """Send answers home: one call for each event loop."""
        loops: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
        for answer in done:
            loop = answer[0].loop
            if loop is not None:
                loops.setdefault(loop, []).append(answer)
            else:
                self._deliver_answers([answer])
        for loop, answers in loops.items():
            try:
                loop.call_soon_threadsafe(self._deliver_answers, answers)
            except RuntimeError:  # that loop is closed: no caller waits there
                self._connection.note_answered(len(answers))

    def _deliver_answers(self, answers: list[Answer]) -> None:
        try:
            self._connection.deliver(answers)
        finally:
            self._connection.note_answered(len(answers))


def _ignore_result(answer: object) -> None:
    """Show nothing."""
