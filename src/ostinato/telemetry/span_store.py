"""SQLite store of the spans of this machine's runs, for the page and `ostinato trace`."""

from __future__ import annotations

import os
from dataclasses import replace

from ..errors import InputValidationError
from ..sessions.sqlite.sqlite_file import SqliteFile
from ..sessions.sqlite.sqlite_threads import Threads
from . import _span_rows as rows
from .recorder import SpanRecord

_READERS = 1
_BETWEEN_PRUNINGS = 1_000  # spans


class SqliteSpanStore:
    """Recorder that keeps the newest spans in a SQLite file; the runs never wait for it.

    A power failure may lose the last commits; a crash of the process does not.

    Args:
      db_path: the file, which holds nothing else; created at first use. `:memory:` keeps the spans
        in memory.
      wants_content: whether prompts, responses, arguments and results are kept, each text once;
        values under names such as `api_key`, `password` or `token` are replaced by `***`.
      keep: how many of the newest spans to keep; up to 1,000 more may be stored.

    Raises:
      InputValidationError: `db_path` is not a path, or `keep` is not positive.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        wants_content: bool = False,
        keep: int = 100_000,
    ) -> None:
        if keep < 1:
            raise InputValidationError(f"keep must be 1 or more, not {keep}.")
        self.wants_content = wants_content
        self._keep = keep
        self._since = 0
        self._known = rows.KnownLinks()  # touched in the writer's thread alone
        file = SqliteFile.of(db_path, rows.FORMAT, synchronous="NORMAL")
        self._threads = Threads(file, readers=_READERS)

    def on_start(self, record: SpanRecord) -> None:
        """Store a span that has begun, without contents; do not wait."""
        begun = replace(record, attributes=dict(record.attributes), contents=[], texts={})
        self._threads.writer.post(lambda db: rows.write_span(db, begun, self._known))

    def on_end(self, record: SpanRecord) -> None:
        """Store a span that has ended; do not wait."""
        self._threads.writer.post(lambda db: rows.write_span(db, record, self._known))
        self._since += 1
        if self._since >= _BETWEEN_PRUNINGS:
            self._since = 0
            self._threads.writer.post(lambda db: rows.prune_spans(db, self._keep, self._known))

    async def of_session(
        self,
        app_name: str,
        user_id: str,
        session_id: str,
        *,
        invocation_id: str | None = None,
        limit: int = 10_000,
    ) -> list[SpanRecord]:
        """Return the newest spans of a session and of its agent tools, oldest first.

        Contents and texts are left out. Spans recorded before by this process are included.

        Args:
          app_name: the app.
          user_id: the user.
          session_id: the session.
          invocation_id: only those of one invocation.
          limit: how many at most.
        """
        place = (app_name, user_id, session_id)
        await self._catch_up()
        return await self._threads.reader.submit(
            lambda db: rows.load_session_spans(db, place, invocation_id, limit), _as_is
        )

    async def span(
        self, span_id: str, *, of: tuple[str, str, str] | None = None
    ) -> SpanRecord | None:
        """Return a span with its contents and texts, or None.

        Args:
          span_id: the span.
          of: app, user and session that the span must belong to.
        """
        await self._catch_up()
        return await self._threads.reader.submit(
            lambda db: rows.load_span(db, span_id, of), _one_as_is
        )

    async def forget(self, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the spans of a session and of its agent tools."""
        place = (app_name, user_id, session_id)
        await self._threads.writer.submit(
            lambda db: rows.delete_session_spans(db, place, self._known), _ignore_answer
        )

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Delete the spans of a user, with the texts that no other span refers to.

        Args:
          app_name: the app; None for all apps.
          user_id: the user.

        Returns:
          How many spans there were.
        """
        return await self._threads.writer.submit(
            lambda db: rows.delete_user_spans(db, app_name, user_id, self._known), _as_count
        )

    async def flush(self) -> None:
        """Wait until all recorded spans are stored."""
        await self._threads.writer.submit(lambda db: None, _ignore_answer)

    async def _catch_up(self) -> None:
        """Wait for this process's spans; a process that only reads takes no lock."""
        if self._threads.writer.has_begun:
            await self.flush()

    async def close(self) -> None:
        """Store the recorded spans and close the file; may be called again."""
        await self._threads.close()


def _as_is(found: list[SpanRecord]) -> list[SpanRecord]:
    return found


def _one_as_is(found: SpanRecord | None) -> SpanRecord | None:
    return found


def _ignore_answer(answer: None) -> None:
    """Show nothing."""


def _as_count(answer: int) -> int:
    return answer
