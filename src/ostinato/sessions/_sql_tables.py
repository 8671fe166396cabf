"""The tables of a SQL database of sessions: google-adk's, version 1, and Ostinato's beside them.

google-adk reads and writes its own and knows nothing of ours. What it changed is found by a
session's `update_time`, which differs from the one that `ostinato_sessions` has noted. Rows of ours
go with the session: by foreign keys, so also where google-adk deletes it.
"""

from __future__ import annotations

from ._sql_dialects import Dialect

VERSION = "1"
ADK_VERSION = "1"
OURS = ("ostinato_metadata", "ostinato_sessions", "ostinato_journal", "ostinato_inbox")

# ostinato_sessions: revision is the number of events; last_micros the time of the newest, as its
# row has it; update_micros the session's update_time when we last wrote it; updated the same as
# the event has it; generation counts how often events of google-adk came to lie between ours;
# tail is the number of the first event that a run needs beside the summaries, whose ids are listed
# as JSON; initial is null where google-adk made the
# session. The rest is its lease, begun is null where no invocation is open.
_TABLES = """
CREATE TABLE IF NOT EXISTS adk_internal_metadata (
  {q}key{q} VARCHAR(128) NOT NULL,
  value VARCHAR(256) NOT NULL,
  PRIMARY KEY ({q}key{q})
){table};
CREATE TABLE IF NOT EXISTS sessions (
  app_name VARCHAR(128) NOT NULL,
  user_id VARCHAR(128) NOT NULL,
  id VARCHAR(128) NOT NULL,
  state {json} NOT NULL,
  create_time {time} NOT NULL,
  update_time {time} NOT NULL,
  PRIMARY KEY (app_name, user_id, id)
){table};
CREATE TABLE IF NOT EXISTS app_states (
  app_name VARCHAR(128) NOT NULL,
  state {json} NOT NULL,
  update_time {time} NOT NULL,
  PRIMARY KEY (app_name)
){table};
CREATE TABLE IF NOT EXISTS user_states (
  app_name VARCHAR(128) NOT NULL,
  user_id VARCHAR(128) NOT NULL,
  state {json} NOT NULL,
  update_time {time} NOT NULL,
  PRIMARY KEY (app_name, user_id)
){table};
CREATE TABLE IF NOT EXISTS events (
  id VARCHAR(128) NOT NULL,
  app_name VARCHAR(128) NOT NULL,
  user_id VARCHAR(128) NOT NULL,
  session_id VARCHAR(128) NOT NULL,
  invocation_id VARCHAR(256) NOT NULL,
  timestamp {time} NOT NULL,
  event_data {json},
  PRIMARY KEY (id, app_name, user_id, session_id),
  FOREIGN KEY (app_name, user_id, session_id)
    REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
){table};
CREATE INDEX idx_events_app_user_session_ts
  ON events (app_name, user_id, session_id, timestamp DESC);
"""

_OURS = """
CREATE TABLE IF NOT EXISTS ostinato_metadata (
  name VARCHAR(128) NOT NULL PRIMARY KEY,
  value VARCHAR(256) NOT NULL
){table};
CREATE TABLE IF NOT EXISTS ostinato_sessions (
  sid {serial},
  app_name VARCHAR(128){names} NOT NULL,
  user_id VARCHAR(128){names} NOT NULL,
  session_id VARCHAR(128){names} NOT NULL,
  generation INTEGER NOT NULL,
  revision BIGINT NOT NULL,
  last_micros BIGINT NOT NULL,
  update_micros BIGINT NOT NULL,
  updated DOUBLE PRECISION NOT NULL,
  tail BIGINT NOT NULL,
  summaries {text} NOT NULL,
  initial {text},
  owner VARCHAR(256) NOT NULL,
  process VARCHAR(512) NOT NULL,
  token BIGINT NOT NULL,
  expires DOUBLE PRECISION NOT NULL,
  invocation_id VARCHAR(256) NOT NULL,
  digest VARCHAR(256) NOT NULL,
  attempts INTEGER NOT NULL,
  stuck {text} NOT NULL,
  cancelled INTEGER NOT NULL,
  begun DOUBLE PRECISION,
  UNIQUE (app_name, user_id, session_id),
  FOREIGN KEY (app_name, user_id, session_id)
    REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
){table};
CREATE INDEX ostinato_open ON ostinato_sessions (begun);
CREATE TABLE IF NOT EXISTS ostinato_journal (
  sid BIGINT NOT NULL,
  invocation_id VARCHAR(256) NOT NULL,
  call_id VARCHAR(500) NOT NULL,
  status VARCHAR(16) NOT NULL,
  tool {text} NOT NULL,
  result {text},
  PRIMARY KEY (sid, invocation_id, call_id),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
CREATE TABLE IF NOT EXISTS ostinato_inbox (
  pos {serial},
  sid BIGINT NOT NULL,
  invocation_id VARCHAR(256) NOT NULL,
  owner VARCHAR(256) NOT NULL,
  process VARCHAR(512) NOT NULL,
  payload {text} NOT NULL,
  expires DOUBLE PRECISION NOT NULL,
  UNIQUE (sid, invocation_id),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
CREATE INDEX ostinato_inbox_owner ON ostinato_inbox (owner);
"""


def adk_tables(dialect: Dialect) -> list[str]:
    """Return the statements that make google-adk's tables."""
    return _filled(_TABLES, dialect, "")


def our_tables(dialect: Dialect, names: str) -> list[str]:
    """Return the statements that make our tables.

    Args:
      names: collation of the names in google-adk's tables, as a column's definition has it; ours
        refer to them and MySQL wants both alike.
    """
    return _filled(_OURS, dialect, names)


def _filled(statements: str, dialect: Dialect, names: str) -> list[str]:
    filled = statements.format(
        q=dialect.mark,
        json=dialect.json,
        time=dialect.time,
        text=dialect.text,
        serial=dialect.serial,
        names=names,
        # to the letter, as the other databases compare
        table=" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" if dialect.name == "mysql" else "",
    )
    return [each for each in filled.split(";") if each.strip()]
