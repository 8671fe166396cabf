"""Threads that own the SQLite connections: one writes in groups, others read.

An embedded store hands them jobs from any event loop; an answer goes back to the loop it came
from, in one call per group and loop. No loop ever waits for a disk, a lock or another loop.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from .._log import get_logger
from ..errors import OstinatoError, StoreError
from ._sqlite_file import MEMORY, SqliteFile, connect, store_error, unreadable

logger = get_logger(__name__)

_GROUP = 256  # jobs in one commit at most

# How often this process came out of a fork; asked at every job, where getpid would be a call.
_forks = [0]


def _forked() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

_R = TypeVar("_R")
_A = TypeVar("_A")


# What a program meets in rows that it did not write so.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class FoundFile:
    """Which file the path named when it was first opened: an answer from another is none.

    Args:
      file: the file.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._identity: tuple[int, int] | None = None

    def check(self) -> None:
        """Remember the file, or see that it is the same still.

        Raises:
          StoreError: it is gone, or another has its name.
        """
        if self._file.path == MEMORY:
            return
        try:
            status = os.stat(self._file.path)
        except OSError:
            if self._identity is None:
                return  # to be made, or to be refused by SQLite
            raise self._error("is no longer there") from None
        identity = (status.st_dev, status.st_ino)
        self._identity = self._identity or identity
        if identity != self._identity:
            raise self._error("was replaced by another file")

    def _error(self, what: str) -> StoreError:
        return StoreError(
            f"The {self._file.name} {what} since it was opened; put the file back, or make a new "
            f"{self._file.format.service}."
        )


class _Job:
    """Work for a thread, and who waits for it; loop and future are None where nobody does."""

    __slots__ = ("answer", "future", "loop", "show", "work")

    def __init__(
        self,
        work: Callable[[sqlite3.Connection], Any],
        show: Callable[[Any], Any],
        loop: asyncio.AbstractEventLoop | None = None,
        future: asyncio.Future[Any] | None = None,
    ) -> None:
        self.work = work
        self.show = show
        self.loop = loop
        self.future = future
        self.answer: Any = None


_Answer = tuple[_Job, Exception | None]


class Worker:
    """Daemon threads that run jobs against one SQLite file; started and connected at first use.

    Args:
      file: the file.
      writes: one thread, jobs that wait together share a transaction, each in a savepoint of its
        own; otherwise each job runs by itself and has to read only.
      threads: how many.
      found: what is known of the file; shared by those who work on it together.
    """

    def __init__(
        self, file: SqliteFile, *, writes: bool, threads: int = 1, found: FoundFile
    ) -> None:
        self._file = file
        self._found = found
        self._forks = 0
        self._writes = writes
        self._count = threads
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def has_begun(self) -> bool:
        """Whether it was given any job."""
        return bool(self._threads)

    def submit(
        self, work: Callable[[sqlite3.Connection], _A], show: Callable[[_A], _R]
    ) -> asyncio.Future[_R]:
        """Queue a job.

        Args:
          work: called in a thread, with its connection; for a writer, inside a transaction.
          show: called with the answer of `work` in the caller's event loop, once it is committed,
            even if nobody waits for the future any more.

        Returns:
          A future of the answer of `show`; its error is a StoreError or what `work` raised.

        Raises:
          StoreError: the store has been closed, or belongs to the process that forked this one.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_R] = loop.create_future()
        self._put(_Job(work, show, loop, future))
        return future

    def post(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Queue a job that nobody waits for; what goes wrong with it is logged.

        Raises:
          StoreError: as `submit`.
        """
        self._put(_Job(work, _nothing))

    def _put(self, job: _Job) -> None:
        if self._threads and self._forks != _forks[0]:  # asked before any lock is taken
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
                self._start()
            self._queue.put(job)

    def stop(self) -> list[threading.Thread]:
        """Let the threads finish what is queued, close their connections and end.

        Returns:
          The threads, for whoever wants to wait for them.
        """
        if self._threads and self._forks != _forks[0]:
            return []  # they are the parent's
        with self._gate:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._queue.put(None)
            return self._threads

    def _start(self) -> None:
        # The threads must not hold the Worker: it is stopped when nobody else holds it.
        lane = _Lane(self._file, self._queue, self._writes, self._found)
        self._forks = _forks[0]
        kind = "writer" if self._writes else "reader"
        self._threads = [
            threading.Thread(target=lane.serve, name=f"ostinato-sqlite-{kind}-{n}", daemon=True)
            for n in range(self._count)
        ]
        for thread in self._threads:
            thread.start()


class Threads:
    """The threads of one store: a writer, and readers beside it where a file holds the data.

    They end when the store is closed or nobody holds it any more.
    """

    def __init__(self, file: SqliteFile, *, readers: int) -> None:
        found = FoundFile(file)
        self.writer = self.reader = Worker(file, writes=True, found=found)
        if file.path != MEMORY:
            self.reader = Worker(file, writes=False, threads=readers, found=found)
        self._finalizer = weakref.finalize(self, _stop, self.writer, self.reader)

    async def close(self) -> None:
        """Commit what is queued, close the file and end the threads; harmless when repeated."""
        loop = asyncio.get_running_loop()
        # The writer last, alone: whoever closes last empties the write-ahead log, and of two that
        # close at once neither may be the last.
        for worker in (self.reader, self.writer):
            for thread in worker.stop():
                await loop.run_in_executor(None, thread.join)


def _stop(writer: Worker, reader: Worker) -> None:
    reader.stop()
    writer.stop()


class _Lane:
    """What a thread of a Worker does."""

    def __init__(
        self,
        file: SqliteFile,
        queue: SimpleQueue[_Job | None],
        writes: bool,
        found: FoundFile,
    ) -> None:
        self._file = file
        self._found = found
        self._queue = queue
        self._writes = writes

    def serve(self) -> None:
        """Take jobs until told to end; body of each thread."""
        connection: sqlite3.Connection | None = None
        done: list[_Answer]
        ended = False
        while not ended:
            group, ended = self._take()
            try:
                self._found.check()
                if connection is None:
                    connection = connect(self._file)
                    self._found.check()
                done = _commit(connection, group) if self._writes else _read(connection, group)
                if self._writes:
                    self._found.check()  # what was written into a file that is gone is lost
            except Exception as error:  # boundary: the error belongs to those who wait
                done = [(job, error) for job in group]
                connection = self._after(connection)
            self._answer(done)
            del done
            group.clear()  # keep no job alive while waiting for the next
        if connection is not None:
            connection.close()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for jobs; return those there are, and whether to end after them."""
        job = self._queue.get()
        group: list[_Job] = []
        more = min(self._queue.qsize(), _GROUP) if self._writes else 0
        while job is not None:
            group.append(job)
            if len(group) > more:
                return group, False
            job = self._queue.get()
        return group, True

    def _after(self, connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        """End the transaction of a connection that failed, and give it up where a file holds the
        data, so that the next job tries afresh.
        """
        if connection is None:
            return None
        if self._file.path != MEMORY:
            connection.close()
            return None
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return connection

    def _answer(self, done: list[_Answer]) -> None:
        """Send answers home: one call for each event loop."""
        loops: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
        for job, error in done:
            if isinstance(error, sqlite3.Error):
                error = _chained(store_error(error, self._file.name), error)
            elif isinstance(error, _UNREADABLE) and not isinstance(
                error, OstinatoError | UnicodeEncodeError
            ):
                error = _chained(unreadable(self._file.name, error), error)
            if job.loop is not None:
                loops.setdefault(job.loop, []).append((job, error))
            elif error is not None:
                logger.warning("What nobody waited for was not stored: %s", error)
        for loop, answers in loops.items():
            try:
                loop.call_soon_threadsafe(_settle, answers)
            except RuntimeError:  # that loop is closed: nobody waits there any more
                continue


def _nothing(answer: object) -> None:
    """Show nothing."""


def _chained(error: StoreError, cause: Exception) -> StoreError:
    error.__cause__ = cause
    return error


def _settle(answers: list[_Answer]) -> None:
    """Show answers in the event loop that asked for them."""
    for job, error in answers:
        future = job.future
        assert future is not None
        if error is None:
            try:
                shown = job.show(job.answer)
            except Exception as failure:  # boundary: the error belongs to the one who waits
                error = failure
            else:
                if not future.done():
                    future.set_result(shown)
                continue
        if not future.done():
            future.set_exception(error)


def _read(connection: sqlite3.Connection, jobs: list[_Job]) -> list[_Answer]:
    """Run jobs that read, each on one snapshot of the file."""
    for job in jobs:
        connection.execute("BEGIN")
        job.answer = job.work(connection)
        connection.execute("COMMIT")
    return [(job, None) for job in jobs]


def _commit(connection: sqlite3.Connection, jobs: list[_Job]) -> list[_Answer]:
    """Run jobs in one transaction; one that fails takes back its own changes only."""
    done: list[_Answer] = []
    if not jobs:
        return done
    connection.execute("BEGIN IMMEDIATE")
    if len(jobs) == 1:  # there is nobody whose changes have to stay
        return [_commit_alone(connection, jobs[0])]
    for job in jobs:
        connection.execute("SAVEPOINT job")
        try:
            job.answer = job.work(connection)
        except Exception as error:  # boundary: the error belongs to the one who waits
            if not connection.in_transaction:
                raise  # a full disk or the like: SQLite has taken back the whole group
            connection.execute("ROLLBACK TO job")
            done.append((job, error))
        else:
            done.append((job, None))
        connection.execute("RELEASE job")
    connection.execute("COMMIT")
    return done


def _commit_alone(connection: sqlite3.Connection, job: _Job) -> _Answer:
    try:
        job.answer = job.work(connection)
    except Exception as error:  # boundary: the error belongs to the one who waits
        if not connection.in_transaction:
            raise
        connection.execute("ROLLBACK")
        return job, error
    connection.execute("COMMIT")
    return job, None
