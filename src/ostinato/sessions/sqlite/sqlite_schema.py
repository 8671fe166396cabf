"""The tables of the embedded session store, as migrations of its SQLite file."""

from __future__ import annotations

from .sqlite_file import FileFormat

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
    # summaries, whose seqs are in ostinato_summaries; see `tail.py`.
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
    # Lists read the newest sessions of an app, or of a user, from an index.
    """
    CREATE INDEX sessions_of_app ON sessions(app, updated, sid);
    CREATE INDEX sessions_of_user ON sessions(app, user, updated, sid);
    """,
    # Calls that wait for an outside answer; `answered` is NULL while they are open. What was
    # open before this table existed is read from the events: requests of agents that no user's
    # event answers and no rewind hides.
    """
    CREATE TABLE ostinato_requests(
      pos INTEGER PRIMARY KEY AUTOINCREMENT,
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      call_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      invocation_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      author TEXT NOT NULL,
      asked REAL NOT NULL,
      question TEXT NOT NULL,
      answered REAL,
      answer TEXT,
      answered_by TEXT,
      UNIQUE(sid, call_id)
    );
    CREATE INDEX open_requests ON ostinato_requests(app, pos) WHERE answered IS NULL;
    CREATE INDEX open_requests_of_user ON ostinato_requests(app, user, pos)
      WHERE answered IS NULL;
    INSERT OR REPLACE INTO ostinato_requests(sid, app, user, call_id, kind, name, invocation_id,
      event_id, author, asked, question)
    SELECT e.sid, s.app, s.user, json_extract(p.value, '$.functionCall.id'),
      CASE json_extract(p.value, '$.functionCall.name')
        WHEN 'adk_request_confirmation' THEN 'approval'
        WHEN 'adk_request_credential' THEN 'credential'
        WHEN 'adk_request_input' THEN 'input' ELSE 'result' END,
      json_extract(p.value, '$.functionCall.name'), e.invocation_id, e.id, e.author, e.timestamp,
      json_object('call', json_extract(p.value, '$.functionCall'))
    FROM events e JOIN sessions s USING(sid), json_each(e.data, '$.content.parts') p
    WHERE instr(e.data, '"longRunningToolIds"') AND e.author <> 'user'
      AND json_extract(p.value, '$.functionCall.id') IN
        (SELECT value FROM json_each(e.data, '$.longRunningToolIds'))
      AND NOT EXISTS (
        SELECT 1 FROM events a, json_each(a.data, '$.content.parts') r
        WHERE a.sid = e.sid AND a.pos > e.pos AND a.author = 'user'
          AND instr(a.data, '"functionResponse"')
          AND json_extract(r.value, '$.functionResponse.id')
            = json_extract(p.value, '$.functionCall.id'))
      AND NOT EXISTS (
        SELECT 1 FROM events b
        WHERE b.sid = e.sid AND b.pos > e.pos AND instr(b.data, '"rewindBeforeInvocationId"')
          AND e.pos >= (SELECT min(f.pos) FROM events f WHERE f.sid = e.sid AND f.invocation_id
            = json_extract(b.data, '$.actions.rewindBeforeInvocationId')))
    ORDER BY e.timestamp, e.pos;
    """,
    # The effects ledger; `finished` is in milliseconds and never falls within a session.
    """
    CREATE TABLE ostinato_effects(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      n INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      data TEXT NOT NULL,
      hash TEXT,
      PRIMARY KEY(sid, n)
    ) WITHOUT ROWID;
    CREATE INDEX effect_times ON ostinato_effects(finished);
    """,
    # The last row of each session's ledger that pruning has deleted; its hash is null if the row
    # had none, or was deleted before such marks were kept.
    """
    CREATE TABLE ostinato_effect_marks(
      sid INTEGER PRIMARY KEY REFERENCES sessions(sid) ON DELETE CASCADE,
      n INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      hash TEXT
    );
    INSERT INTO ostinato_effect_marks(sid, n, finished)
      SELECT sid, min(n) - 1, 0 FROM ostinato_effects GROUP BY sid HAVING min(n) > 1;
    """,
)
VERSION = len(_MIGRATIONS)

FORMAT = FileFormat(
    noun="session store",
    service="SqliteSessionService",
    migrations=_MIGRATIONS,
    otherwise="use DatabaseSessionService for a database that google-adk wrote",
)
