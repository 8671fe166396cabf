"""The tables of the embedded session store, as migrations of its SQLite file."""

from __future__ import annotations

from ._sqlite_file import FileFormat

# events.pos is sid << 32 | seq: rows of a session lie side by side in a table of whole leaf pages
# (a WITHOUT ROWID table would push every event of more than 1 kB to overflow pages of its own).
# sessions.revision is the seq of the newest event, scopes.revision counts writes of shared state.
# A state value of NULL is a removed key. scopes and shared_state: user is '' for an app's state.
_MIGRATIONS = (
    """
    CREATE TABLE sessions(
      sid INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      id TEXT NOT NULL,
      created REAL NOT NULL,
      updated REAL NOT NULL,
      revision INTEGER NOT NULL DEFAULT 0,
      initial TEXT,
      UNIQUE(app, user, id)
    );
    CREATE TABLE events(
      pos INTEGER PRIMARY KEY,
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      id TEXT NOT NULL,
      invocation_id TEXT NOT NULL,
      author TEXT NOT NULL,
      branch TEXT,
      timestamp REAL NOT NULL,
      data TEXT NOT NULL,
      UNIQUE(sid, id)
    );
    CREATE TABLE session_state(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      key TEXT NOT NULL,
      value TEXT,
      PRIMARY KEY(sid, key)
    ) WITHOUT ROWID;
    CREATE TABLE scopes(
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      revision INTEGER NOT NULL,
      PRIMARY KEY(app, user)
    ) WITHOUT ROWID;
    CREATE TABLE shared_state(
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT,
      PRIMARY KEY(app, user, key)
    ) WITHOUT ROWID;
    CREATE TABLE ostinato_journal(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      invocation_id TEXT NOT NULL,
      call_id TEXT NOT NULL,
      status TEXT NOT NULL,
      tool TEXT NOT NULL,
      result TEXT,
      PRIMARY KEY(sid, invocation_id, call_id)
    ) WITHOUT ROWID;
    CREATE TABLE ostinato_lease(
      sid INTEGER PRIMARY KEY REFERENCES sessions(sid) ON DELETE CASCADE,
      owner TEXT NOT NULL,
      token INTEGER NOT NULL,
      expires REAL NOT NULL,
      process TEXT
    );
    CREATE TABLE ostinato_inbox(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      message TEXT NOT NULL,
      created REAL NOT NULL,
      PRIMARY KEY(sid, seq),
      UNIQUE(sid, id)
    ) WITHOUT ROWID;
    """,
    # Lease: `begun` is when its open invocation was first claimed. Inbox: `id` is the invocation
    # that the message will begin. sessions.tail: seq of the first event that a run needs beside the
    # summaries, whose seqs are in ostinato_summaries; see `_log_tail.py`.
    """
    ALTER TABLE ostinato_lease ADD COLUMN invocation_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ostinato_lease ADD COLUMN stuck TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ostinato_lease ADD COLUMN begun REAL NOT NULL DEFAULT 0;
    CREATE INDEX open_leases ON ostinato_lease(begun) WHERE invocation_id <> '';
    ALTER TABLE ostinato_inbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_inbox ADD COLUMN process TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_inbox ADD COLUMN expires REAL NOT NULL DEFAULT 0;
    CREATE INDEX inbox_owners ON ostinato_inbox(owner);
    CREATE INDEX inbox_times ON ostinato_inbox(created);
    ALTER TABLE sessions ADD COLUMN tail INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE ostinato_summaries(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      PRIMARY KEY(sid, seq)
    ) WITHOUT ROWID;
    """,
)
VERSION = len(_MIGRATIONS)

FORMAT = FileFormat(
    noun="session store",
    service="SqliteSessionService",
    migrations=_MIGRATIONS,
    otherwise="use DatabaseSessionService for a database that google-adk wrote",
)
