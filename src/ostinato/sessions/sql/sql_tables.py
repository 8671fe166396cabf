"""The tables of a SQL database of sessions: google-adk's, version 1, and Ostinato's beside them.

google-adk reads and writes its own tables and does not know Ostinato's. Its changes are found by a
session's `update_time`, which then differs from the one noted in `ostinato_sessions`. Foreign keys
delete Ostinato's rows with the session, also when google-adk deletes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping

from ..store.search_words import FTS5_INDEX
from .sql_dialects import Dialect

VERSION = "1"
ADK_VERSION = "1"
OURS = (
    "ostinato_metadata",
    "ostinato_sessions",
    "ostinato_journal",
    "ostinato_inbox",
    "ostinato_requests",
    "ostinato_effects",
    "ostinato_effect_marks",
)
SEARCH = "ostinato_search"
"""The table that was added last, with indexes and a column that came with it."""

# ostinato_sessions: revision is the number of events; last_micros the time of the newest, as its
# row has it; update_micros the session's update_time when Ostinato last wrote it; updated the same
# as the event has it; generation counts how often events of google-adk came between Ostinato's;
# tail is the number of the first event that a run needs beside the summaries, whose ids are listed
# as JSON; initial is null if google-adk created the session. The rest is its lease; begun is null
# if no invocation is open.
# ostinato_effects: the effects ledger; n counts within a session, finished is in milliseconds.
# ostinato_effect_marks: the last row of a session's ledger that pruning has deleted; its hash is
# null if the row had none, or was deleted before such marks were kept.
# ostinato_requests: calls that wait for an outside answer; answered is null while they are open.
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
CREATE TABLE IF NOT EXISTS ostinato_requests (
  pos {serial},
  sid BIGINT NOT NULL,
  app_name VARCHAR(128){names} NOT NULL,
  user_id VARCHAR(128){names} NOT NULL,
  call_id VARCHAR(500) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  name {text} NOT NULL,
  invocation_id VARCHAR(256) NOT NULL,
  event_id VARCHAR(128) NOT NULL,
  author {text} NOT NULL,
  asked DOUBLE PRECISION NOT NULL,
  question {text} NOT NULL,
  answered DOUBLE PRECISION,
  answer {text},
  answered_by VARCHAR(256),
  UNIQUE (sid, call_id),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
CREATE INDEX ostinato_requests_open ON ostinato_requests {open_requests};
CREATE INDEX ostinato_requests_of_user ON ostinato_requests {open_requests_of_user};
CREATE TABLE IF NOT EXISTS ostinato_effects (
  sid BIGINT NOT NULL,
  n INTEGER NOT NULL,
  finished BIGINT NOT NULL,
  data {text} NOT NULL,
  hash {text},
  PRIMARY KEY (sid, n),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
CREATE INDEX ostinato_effects_times ON ostinato_effects (finished);
CREATE TABLE IF NOT EXISTS ostinato_effect_marks (
  sid BIGINT NOT NULL,
  n INTEGER NOT NULL,
  finished BIGINT NOT NULL,
  hash {text},
  PRIMARY KEY (sid),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
"""
MARK_PRUNED = (
    "INSERT INTO ostinato_effect_marks (sid, n, finished) SELECT sid, MIN(n) - 1, 0 "
    "FROM ostinato_effects GROUP BY sid HAVING MIN(n) > 1"
)
"""Fills the marks of a database whose ledger was pruned before there were any."""

# Indexes that lists and sweeps need, by table and name; they are also made in databases that have
# the tables already. Those of `sessions` lie beside google-adk's schema, which knows no others.
_INDEXES = {
    "sessions": {
        "ostinato_sessions_of_app": "(app_name, update_time, user_id, id)",
        "ostinato_sessions_of_user": "(app_name, user_id, update_time, id)",
    },
    "ostinato_inbox": {"ostinato_inbox_first": "(sid, pos)"},
    "ostinato_sessions": {"ostinato_unindexed": "{unindexed}"},
}
# `unindexed` is 1 while events of a session are not in the search's index.
_UNINDEXED = "ALTER TABLE ostinato_sessions ADD COLUMN unindexed INTEGER NOT NULL DEFAULT 1"
# What a session is found by: words of its id, its title and some of its events; see
# `search_words.py`. `part` numbers stretches of its log.
_SEARCH = """
CREATE TABLE IF NOT EXISTS ostinato_search (
  doc {serial},
  sid BIGINT NOT NULL,
  part INTEGER NOT NULL,
  words {words} NOT NULL,
  UNIQUE (sid, part),
  FOREIGN KEY (sid) REFERENCES ostinato_sessions (sid) ON DELETE CASCADE
){table};
"""
_WORDS = {
    "sqlite": FTS5_INDEX,
    "postgresql": ("CREATE INDEX ostinato_words ON ostinato_search USING gin (words)",),
    "mysql": ("CREATE FULLTEXT INDEX ostinato_words ON ostinato_search (words)",),
}


def adk_tables(dialect: Dialect) -> list[str]:
    """Return the statements that make google-adk's tables."""
    return _fill_statements(_TABLES, dialect, "")


def our_tables(dialect: Dialect, names: str, existing: Container[str] = ()) -> list[str]:
    """Return the statements that make our tables, each with its indexes.

    Args:
      dialect: the database.
      names: collation of the names in google-adk's tables, as a column's definition has it; ours
        refer to them and MySQL wants both alike.
      existing: tables that the database has already.
    """
    statements = _fill_statements(_OURS, dialect, names)
    return [each for each in statements if _table_of(each) not in existing]


def _table_of(statement: str) -> str:
    found = re.search(r"(?:TABLE IF NOT EXISTS|\bON) (\w+)", statement)
    assert found is not None
    return found.group(1)


def index_statements(dialect: Dialect, known: Mapping[str, Collection[str]]) -> list[str]:
    """Return the statements that make indexes which tables lack.

    Args:
      known: names of the indexes that there are, by table.
    """
    unindexed = "(unindexed, sid)" if dialect.name == "mysql" else "(sid) WHERE unindexed = 1"
    return [
        f"CREATE INDEX {name} ON {table} {columns.replace('{unindexed}', unindexed)}"
        for table, indexes in _INDEXES.items()
        for name, columns in indexes.items()
        if name not in known[table]
    ]


def column_statements(known: Collection[str]) -> list[str]:
    """Return the statements that add the columns which `ostinato_sessions` lacks.

    Args:
      known: the columns that there are.
    """
    return [] if "unindexed" in known else [_UNINDEXED]


def search_tables(dialect: Dialect) -> list[str]:
    """Return the statements that make the table of the search and its full-text index."""
    return [*_fill_statements(_SEARCH, dialect, ""), *_WORDS[dialect.name]]


def indexed_tables() -> Collection[str]:
    """Return the tables of `index_statements`."""
    return _INDEXES.keys()


def _fill_statements(statements: str, dialect: Dialect, names: str) -> list[str]:
    # MySQL has no index over some rows only, so the column that tells them comes first there.
    mysql = dialect.name == "mysql"
    fill_template = statements.format(
        open_requests="(app_name, answered, pos)"
        if mysql
        else "(app_name, pos) WHERE answered IS NULL",
        open_requests_of_user="(app_name, user_id, answered, pos)"
        if mysql
        else "(app_name, user_id, pos) WHERE answered IS NULL",
        q=dialect.mark,
        json=dialect.json,
        time=dialect.time,
        text=dialect.text,
        serial=dialect.serial,
        names=names,
        words="TSVECTOR" if dialect.name == "postgresql" else dialect.text,
        # exact comparison, as in the other databases
        table=" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" if mysql else "",
    )
    return [each for each in fill_template.split(";") if each.strip()]
