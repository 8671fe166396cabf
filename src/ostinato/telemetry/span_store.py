"""SqliteSpanStore: keeps the spans of this machine's runs in a file beside the sessions, so that
the page and `ostinato trace` show a run after a restart, too. It is a Recorder.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ..errors import InputValidationError
from ..sessions._sqlite_file import SqliteFile, file_path
from ..sessions._sqlite_worker import Threads
from . import _span_rows as rows
from .recorder import SpanRecord

_READERS = 1
_BETWEEN_PRUNINGS = 1_000  # spans


class SqliteSpanStore:
    """Keeps the newest spans in a SQLite file; the runs never wait for it.

    A commit in it may be lost with the machine's power, never with the process alone.

    Args:
      db_path: the file, which holds nothing else; made at first use. `:memory:` keeps all in
        memory.
      wants_content: whether prompts, responses, arguments and results are kept, each text once;
        values under names such as `api_key`, `password` or `token` are replaced by `***`.
      keep: how many spans, the newest; 1,000 more at most.

    Raises:
      InputValidationError: `db_path` is no path, or `keep` is not positive.
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
        file = SqliteFile(file_path(db_path), rows.FORMAT, synchronous="NORMAL")
        self._threads = Threads(file, readers=_READERS)

    def started(self, record: SpanRecord) -> None:
        """Store a span that has begun, without contents; nobody waits for it."""
        begun = replace(record, attributes=dict(record.attributes), contents=[], texts={})
        self._threads.writer.post(lambda db: rows.write(db, begun, self._known))

    def ended(self, record: SpanRecord) -> None:
        """Store what became of a span; nobody waits for it."""
        self._threads.writer.post(lambda db: rows.write(db, record, self._known))
        self._since += 1
        if self._since >= _BETWEEN_PRUNINGS:
            self._since = 0
            self._threads.writer.post(lambda db: rows.prune(db, self._keep, self._known))

    async def of_session(
        self,
        app_name: str,
        user_id: str,
        session_id: str,
        *,
        invocation_id: str | None = None,
        limit: int = 10_000,
    ) -> list[SpanRecord]:
        """Return the newest spans of a session and of agents that ran as tools within it, oldest
        first, without contents and texts: all that was noted here before, and what others stored.

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
            lambda db: rows.of_session(db, place, invocation_id, limit), _as_is
        )

    async def span(
        self, span_id: str, *, of: tuple[str, str, str] | None = None
    ) -> SpanRecord | None:
        """Return a span with its contents and texts, or None where there is none.

        Args:
          span_id: the span.
          of: app, user and session that it has to belong to.
        """
        await self._catch_up()
        return await self._threads.reader.submit(lambda db: rows.one(db, span_id, of), _one_as_is)

    async def forget(self, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the spans of a session, and of the agents that ran as tools within it."""
        place = (app_name, user_id, session_id)
        await self._threads.writer.submit(lambda db: rows.forget(db, place, self._known), _nothing)

    async def flush(self) -> None:
        """Wait until all that was noted is stored."""
        await self._threads.writer.submit(lambda db: None, _nothing)

    async def _catch_up(self) -> None:
        """Wait for what was noted here; who only reads takes no lock of the file."""
        if self._threads.writer.has_begun:
            await self.flush()

    async def close(self) -> None:
        """Store what was noted and close the file; harmless when repeated."""
        await self._threads.close()


def _as_is(found: list[SpanRecord]) -> list[SpanRecord]:
    return found


def _one_as_is(found: SpanRecord | None) -> SpanRecord | None:
    return found


def _nothing(answer: None) -> None:
    """Show nothing."""
