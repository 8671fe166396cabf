"""A connection to one SQLite file, the jobs that run on it, and their results.

The threads of `sqlite_threads.py` run jobs in groups; if a commit does not wait for the disk, the
caller may run its job itself.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ..._log import get_logger
from ...errors import OstinatoError, StoreError
from .sqlite_file import (
    MEMORY,
    SqliteFile,
    checkpoint_wal,
    connect,
    leave_checkpoints,
    store_error,
    unreadable_error,
    wait_for_others,
)

logger = get_logger(__name__)

# How often this process came out of a fork; asked at every job, where getpid would be a call.
forks = [0]


def _count_fork() -> None:
    forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)

_BETWEEN_CHECKPOINTS = 256  # jobs; SQLite's own rule of 1,000 pages is about as many
_LONG_SECONDS = 0.005  # a commit that waits longer holds up whatever else its event loop runs
_QUIET_SECONDS = 10.0  # between two log lines about the same failure
_PAUSE = 1000  # jobs that go to the thread after such a commit

# What a program meets in rows that it did not write so.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class FileIdentity:
    """The identity of the file that the path first named: answers from another file are invalid.

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
        known = self._identity  # asked first: meanwhile another thread may make the file
        try:
            status = os.stat(self._file.path)
        except OSError:
            if known is None:
                return  # to be made, or to be refused by SQLite
            raise self._changed_error("is no longer there") from None
        identity = (status.st_dev, status.st_ino)
        self._identity = self._identity or identity
        if identity != self._identity:
            raise self._changed_error("was replaced by another file")

    def _changed_error(self, what: str) -> StoreError:
        return StoreError(
            f"The {self._file.name} {what} since it was opened; put the file back, or make a new "
            f"{self._file.format.service}."
        )


class Job:
    """Work on a connection, and who waits for it.

    Loop and future are None if no caller waits; `on_error` then gets the error, if it is given.
    """

    __slots__ = ("answer", "future", "loop", "on_error", "show", "work")

    def __init__(
        self,
        work: Callable[[sqlite3.Connection], Any],
        show: Callable[[Any], Any],
        loop: asyncio.AbstractEventLoop | None = None,
        future: asyncio.Future[Any] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self.on_error = on_error
        self.work = work
        self.show = show
        self.loop = loop
        self.future = future
        self.answer: Any = None


Answer = tuple[Job, Exception | None]


class SqliteConnection:
    """A connection to a file, made at first use and given up where it failed.

    Args:
      file: the file.
      writes: jobs run in a transaction that writes; otherwise each reads one snapshot.
      found: what is known of the file.
      alone: whether a caller with a brief job may run it itself while no other job waits.

    Attributes:
      lock: held by the user of the connection.
      alone: see above.
      closing: whether no other job is to come.
    """

    def __init__(
        self, file: SqliteFile, *, writes: bool, found: FileIdentity, alone: bool = False
    ) -> None:
        self.lock = threading.Lock()
        self.alone = alone
        self.closing = False
        self._file = file
        self._writes = writes
        self._found = found
        self._connection: sqlite3.Connection | None = None
        self._waiting = 0
        self._counting = threading.Lock()
        self._forks = 0
        self._jobs = 0  # since the last checkpoint
        self._pause = 0
        self._logged = ("", 0.0)

    def note_waiting(self) -> None:
        """Note that a job waits for the thread; until it is answered, later ones do as well."""
        if self.alone:
            with self._counting:
                self._waiting += 1

    def note_answered(self, count: int) -> None:
        """Note that jobs which waited were answered."""
        if self.alone:
            with self._counting:
                self._waiting -= count

    def run_jobs(self, jobs: list[Job]) -> list[Answer]:
        """Run jobs, in one transaction where they write, and wait for other programs; the lock is
        held.
        """
        done: list[Answer]
        try:
            connection = self._open_connection()
            if self.alone:
                wait_for_others(connection, True)
            done = _run_writes(connection, jobs) if self._writes else _run_reads(connection, jobs)
            if self._writes:
                self._found.check()  # what was written into a file that is gone is lost
            if self.alone:
                self._tidy_up(connection, len(jobs))
        except Exception as error:  # boundary: the error belongs to those who wait
            done = [(job, error) for job in jobs]
            self._give_up()
        return done

    def run_alone(self, job: Job) -> bool:
        """Run a brief job in the thread that has it, without waiting for anybody.

        Returns:
          Whether it ran, and its answer was shown. It did not where others are first, the
          write-ahead log is to be emptied, the commits take long, or it cannot be begun: the
          writer's thread then waits, or says what is wrong.
        """
        if not self.alone or self.closing or self._waiting or self._jobs >= _BETWEEN_CHECKPOINTS:
            return False
        if self._pause > 0:  # two threads may count at once
            self._pause -= 1
            return False
        connection = self._connection
        began, worked = time.monotonic(), time.thread_time()
        if connection is None or self._forks != forks[0] or not self.lock.acquire(False):
            return False
        try:
            try:
                self._found.check()
                connection.execute("BEGIN IMMEDIATE")
            except (sqlite3.Error, StoreError):  # also where the thread has just closed it
                return False
            self._jobs += 1
            answer = _commit_alone(connection, job)
        except Exception as error:  # boundary: the error belongs to the one who waits
            self._give_up()
            answer = job, error
        finally:
            if self._connection is not None and self._connection.in_transaction:
                self._give_up()  # a signal's handler broke in
            self.lock.release()
        took = time.monotonic() - began
        # Waited, not worked: Python's collector may have run in it, which a thread would not avoid.
        if took > _LONG_SECONDS and took - (time.thread_time() - worked) > _LONG_SECONDS:
            self._pause = _PAUSE
        self.deliver((answer,))
        return True

    def _log_unwaited(self, error: Exception) -> None:
        """Log the error of a write without a caller; the same one every ten seconds at most."""
        text, now = str(error), time.monotonic()
        logged_text, logged_at = self._logged
        if text != logged_text or now - logged_at >= _QUIET_SECONDS:
            self._logged = text, now
            logger.warning("A write that no caller waited for failed: %s", error)

    def deliver(self, answers: Iterable[Answer]) -> None:
        """Deliver results in their callers' event loop; log errors that no caller receives."""
        for job, error in answers:
            if error is not None:
                error = self._translate_error(error)
            future = job.future
            if future is None:
                if error is not None and job.on_error is not None:
                    job.on_error(error)
                elif error is not None:
                    self._log_unwaited(error)
                continue
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

    def close(self) -> None:
        """Close the connection; the lock is held."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _translate_error(self, error: Exception) -> Exception:
        """Return the error that callers get for one that was met."""
        if isinstance(error, sqlite3.Error):
            return _with_cause(store_error(error, self._file.name), error)
        if isinstance(error, _UNREADABLE) and not isinstance(
            error, OstinatoError | UnicodeEncodeError
        ):
            return _with_cause(unreadable_error(self._file.name, error), error)
        return error

    def _open_connection(self) -> sqlite3.Connection:
        self._found.check()
        if self._connection is None:
            self._connection = connect(self._file)
            self._forks = forks[0]
            if self.alone:
                leave_checkpoints(self._connection)
            self._found.check()
        return self._connection

    def _tidy_up(self, connection: sqlite3.Connection, jobs: int) -> None:
        """Do what those who run jobs themselves must not wait for."""
        self._jobs += jobs
        if self._jobs >= _BETWEEN_CHECKPOINTS:
            self._jobs = 0
            with suppress(sqlite3.Error):  # what was committed stands; it is tried again later
                checkpoint_wal(connection)
        wait_for_others(connection, False)

    def _give_up(self) -> None:
        """End the transaction of a connection that failed, and give it up where a file holds the
        data, so that the next job tries afresh.
        """
        connection = self._connection
        if connection is None:
            return
        if self._file.path != MEMORY:
            self.close()
        elif connection.in_transaction:
            connection.execute("ROLLBACK")


def _with_cause(error: StoreError, cause: Exception) -> StoreError:
    error.__cause__ = cause
    return error


def _run_reads(connection: sqlite3.Connection, jobs: list[Job]) -> list[Answer]:
    """Run jobs that read, each on one snapshot of the file."""
    for job in jobs:
        connection.execute("BEGIN")
        job.answer = job.work(connection)
        connection.execute("COMMIT")
    return [(job, None) for job in jobs]


def _run_writes(connection: sqlite3.Connection, jobs: list[Job]) -> list[Answer]:
    """Run jobs in one transaction; one that fails takes back its own changes only."""
    done: list[Answer] = []
    if not jobs:
        return done
    connection.execute("BEGIN IMMEDIATE")
    if len(jobs) == 1:  # no other job's changes have to survive
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


def _commit_alone(connection: sqlite3.Connection, job: Job) -> Answer:
    try:
        job.answer = job.work(connection)
    except Exception as error:  # boundary: the error belongs to the one who waits
        if not connection.in_transaction:
            raise
        connection.execute("ROLLBACK")
        return job, error
    connection.execute("COMMIT")
    return job, None
