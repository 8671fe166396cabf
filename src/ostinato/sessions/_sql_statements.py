"""Every statement of the SQL store, by name, with what differs between databases in braces.

`_sql_rows.py`, `_sql_appends.py` and `_sql_leases.py` execute them inside transactions of
`_sql_engines.py`. Parameters `app`, `user` and `id` name a session, `now` is the machine's time for
a database that goes by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._optional import need
from ._lease_rules import NOBODY
from ._sql_dialects import Dialect
from .base_session_service import HIDDEN_PREFIX

if TYPE_CHECKING:
    from sqlalchemy import TextClause
    from sqlalchemy.ext.asyncio import AsyncConnection

Statements = Mapping[str, "TextClause"]

_OURS = (
    "sessions s LEFT JOIN ostinato_sessions o ON o.app_name = s.app_name "
    "AND o.user_id = s.user_id AND o.session_id = s.id"
)
_SHARED = (
    "LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id "
    "LEFT JOIN app_states a ON a.app_name = s.app_name"
)
_EVENT = "SELECT id, invocation_id, timestamp, {json event_data} FROM events WHERE {events}"
_NEWEST = "ORDER BY timestamp DESC, id DESC LIMIT :count"
_SIDE_ROW = (
    "INSERT INTO ostinato_sessions (app_name, user_id, session_id, generation, revision, "
    "last_micros, update_micros, updated, tail, summaries, initial, owner, process, token, "
    "expires, invocation_id, digest, attempts, stuck, cancelled) VALUES (:app, :user, :id, 0, "
    ":revision, :last, :update, :updated, 1, '[]', {initial}, '', '', 0, 0, '', '', 0, '', 0)"
)

SESSIONS = {
    "head": "SELECT s.update_time, o.sid, o.generation, o.revision, o.last_micros, "
    "o.update_micros, o.updated, o.tail, o.summaries, "
    "CASE WHEN o.sid = :sid AND o.revision = :revision THEN NULL "
    f"ELSE {{json s.state}} END, {{json u.state}}, {{json a.state}} FROM {_OURS} "
    f"{_SHARED} WHERE {{session}}",
    "newest": f"{_EVENT} AND timestamp <= :last {_NEWEST}",
    "newest since": f"{_EVENT} AND timestamp <= :last AND timestamp >= :since {_NEWEST}",
    "some": f"{_EVENT} AND id IN :ids ORDER BY timestamp, id",
    "all": f"{_EVENT} ORDER BY timestamp, id",
    "initial": f"SELECT o.initial, {{json s.state}} FROM {_OURS} WHERE {{session}}",
    "shared": f"SELECT {{json u.state}}, {{json a.state}} FROM sessions s {_SHARED} "
    "WHERE {session}",
    "create": "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) "
    "VALUES (:app, :user, :id, {as json state}, :time, :time)",
    "create ours": _SIDE_ROW.replace("{initial}", ":initial"),
    "app state": "SELECT {json state} FROM app_states WHERE {is app_name app}",
    "user state": "SELECT user_id, {json state} FROM user_states "
    "WHERE {is app_name app} AND {is user_id user}",
    "delete": "DELETE FROM sessions WHERE {row}",
}

APP_STATE = {
    "read": "SELECT {json state} FROM app_states WHERE {is app_name app} {lock row}",
    "insert": "INSERT INTO app_states (app_name, state, update_time) "
    "VALUES (:app, '{}', :time) {keep app_name}",
    "update": "UPDATE app_states SET state = {as json state}, update_time = :time "
    "WHERE {is app_name app}",
}
USER_STATE = {
    "read": "SELECT {json state} FROM user_states "
    "WHERE {is app_name app} AND {is user_id user} {lock row}",
    "insert": "INSERT INTO user_states (app_name, user_id, state, update_time) "
    "VALUES (:app, :user, '{}', :time) {keep app_name, user_id}",
    "update": "UPDATE user_states SET state = {as json state}, update_time = :time "
    "WHERE {is app_name app} AND {is user_id user}",
}

_ADVANCE = (
    "revision = :revision, last_micros = :last, update_micros = :update, updated = :updated "
    "WHERE sid = :sid"
)
_CLEAR = "DELETE FROM ostinato_journal WHERE sid = :sid AND invocation_id = :invocation"

APPENDS = {
    "lock": "SELECT s.update_time, CASE WHEN :with_state = 1 THEN {json s.state} END, "
    "CASE WHEN :with_inbox = 1 THEN (SELECT min(i.pos) FROM ostinato_inbox i "
    "WHERE i.sid = o.sid) END, o.sid, o.generation, o.revision, o.last_micros, o.update_micros, "
    "o.updated, o.owner, o.process, o.token, o.expires - {now}, o.invocation_id, o.digest, "
    f"o.attempts, o.stuck FROM {_OURS} WHERE {{session}} {{lock}}",
    "extent": "SELECT count(*), max(timestamp) FROM events WHERE {events}",
    "largest": "SELECT @@max_allowed_packet",  # MySQL's; it drops a connection that sends more
    "before": "SELECT count(*) FROM events WHERE {events} AND timestamp <= :last",
    "adopt": _SIDE_ROW.replace("{initial}", "NULL"),
    "adopt again": "UPDATE ostinato_sessions SET generation = :generation, tail = 1, "
    "summaries = '[]', " + _ADVANCE,
    "stored": "SELECT id FROM events WHERE {events} AND id = :event",
    "insert": "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
    "event_data) VALUES (:event, :app, :user, :id, :invocation, :time, {as json data})",
    "touch": "UPDATE sessions SET update_time = :time WHERE {row}",
    "touch state": "UPDATE sessions SET state = {as json state}, update_time = :time WHERE {row}",
    "advance": "UPDATE ostinato_sessions SET " + _ADVANCE,
    # `begun` and `cancelled` first: MySQL reads what it has just written.
    "advance claimed": "UPDATE ostinato_sessions SET begun = CASE WHEN invocation_id = :invocation "
    "AND begun IS NOT NULL THEN begun ELSE {now} END, cancelled = CASE WHEN invocation_id = "
    ":invocation THEN cancelled ELSE 0 END, owner = :owner, process = :process, "
    "token = :token, expires = {now} + :seconds, invocation_id = :invocation, digest = :digest, "
    "attempts = :attempts, stuck = '', " + _ADVANCE,
    "message": "SELECT invocation_id, owner, process, payload, expires - {now} "
    "FROM ostinato_inbox WHERE pos = :pos",
    "take message": "DELETE FROM ostinato_inbox WHERE sid = :sid AND invocation_id = :invocation",
    "clear": _CLEAR,
    "journal": "INSERT INTO ostinato_journal (sid, invocation_id, call_id, status, tool, result) "
    "VALUES (:sid, :invocation, :call, :status, :tool, :result) {write journal}",
}

_LISTED = (
    "SELECT s.app_name, s.user_id, s.id, s.update_time, {json s.state}, o.update_micros, "
    "o.updated, COALESCE(o.sid, 0), CASE WHEN o.sid IS NULL THEN (SELECT count(*) FROM events e "
    "WHERE e.app_name = s.app_name AND e.user_id = s.user_id AND e.session_id = s.id) "
    f"ELSE o.revision END, {{json u.state}}, {{json a.state}} FROM {_OURS} {_SHARED} "
    "WHERE (s.update_time < :time OR s.update_time = :time AND COALESCE(o.sid, 0) < :number) "
    f"AND substr(s.id, 1, {len(HIDDEN_PREFIX)}) <> '{HIDDEN_PREFIX}'"
)
_NEWEST_FIRST = "ORDER BY s.update_time DESC, COALESCE(o.sid, 0) DESC LIMIT :limit"
_OF_APP, _OF_USER = "AND {is s.app_name app}", "AND {is s.user_id user}"
MANY = {
    "keys": "SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id",
    "list": f"{_LISTED} {_NEWEST_FIRST}",
    "list app": f"{_LISTED} {_OF_APP} {_NEWEST_FIRST}",
    "list user": f"{_LISTED} {_OF_USER} {_NEWEST_FIRST}",
    "list app user": f"{_LISTED} {_OF_APP} {_OF_USER} {_NEWEST_FIRST}",
    "of user": "SELECT s.app_name, s.user_id, s.id FROM sessions s "
    "WHERE {is s.app_name app} AND {is s.user_id user} {lock}",
    "delete of user": "DELETE FROM sessions WHERE {is app_name app} AND {is user_id user}",
    "delete user state": "DELETE FROM user_states WHERE {is app_name app} AND {is user_id user}",
    "old": f"SELECT s.app_name, s.user_id, s.id FROM {_OURS} WHERE {{is s.app_name app}} "
    "AND s.update_time < :time AND (o.sid IS NULL OR o.owner = '' OR o.expires <= {now}) "
    "ORDER BY s.update_time LIMIT :limit {lock}",
    "state": "SELECT {json s.state} FROM sessions s WHERE {session} {lock}",
    "time": "SELECT timestamp FROM events WHERE {events} AND id = :event",
    "copy": "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
    "event_data) SELECT id, app_name, user_id, :new, invocation_id, timestamp, event_data "
    "FROM events WHERE {events} AND timestamp <= :last",
}

V0 = {
    "v0 session": "SELECT {json state}, update_time FROM sessions WHERE {row}",
    "v0 events": "SELECT * FROM events WHERE {events} ORDER BY timestamp, id",
    "v0 list": "SELECT s.app_name, s.user_id, s.id, s.update_time, {json s.state}, {json u.state}, "
    f"{{json a.state}} FROM sessions s {_SHARED} ORDER BY s.update_time DESC, s.id",
}

TAILS = {
    "tail": "SELECT tail, summaries FROM ostinato_sessions WHERE sid = :sid",
    "older than": "SELECT count(*) FROM events WHERE {events} AND timestamp < COALESCE("
    "(SELECT min(timestamp) FROM events WHERE {events} AND invocation_id = :invocation), "
    "'9999-12-31 23:59:59')",
    "move": "UPDATE ostinato_sessions SET tail = :tail, summaries = :summaries WHERE sid = :sid",
}

_NAMES = "app_name, user_id, session_id"
_HELD = "begun IS NOT NULL AND owner"
_LEASE = (
    f"SELECT {_NAMES}, owner, process, token, expires - {{now}}, invocation_id, digest, attempts, "
    "stuck FROM ostinato_sessions WHERE"
)
_OLDEST = "ORDER BY begun, sid LIMIT :limit"
_GIVEN_BACK = "UPDATE ostinato_sessions SET owner = '', cancelled = 0, expires = 0"
_OF_PLACE = "sid = (SELECT sid FROM ostinato_sessions WHERE {place})"
_WAITS = f"FROM ostinato_inbox WHERE {_OF_PLACE}"
_CANCEL = (
    f"UPDATE ostinato_sessions SET cancelled = cancelled + 1 WHERE {{place}} AND {_HELD} <> ''"
)
_WAITING = (
    f"SELECT {_NAMES} FROM ostinato_sessions JOIN (SELECT sid, min(pos) AS since "
    "FROM ostinato_inbox GROUP BY sid) waits ON waits.sid = ostinato_sessions.sid"
)
LEASES = {
    "lease": f"{_LEASE} {{place}} AND token > 0",
    "open": f"{_LEASE} begun IS NOT NULL AND stuck = '' {_OLDEST}",
    "open of app": f"{_LEASE} begun IS NOT NULL AND stuck = '' AND {{is app_name app}} {_OLDEST}",
    "stuck": f"{_LEASE} begun IS NOT NULL AND stuck <> '' {_OLDEST}",
    "stuck of app": f"{_LEASE} begun IS NOT NULL AND stuck <> '' AND {{is app_name app}} {_OLDEST}",
    "journal": "SELECT call_id, status, tool, result FROM ostinato_journal "
    f"WHERE {_OF_PLACE} AND invocation_id = :invocation",
    "held": f"SELECT {_NAMES}, token, sid, cancelled FROM ostinato_sessions WHERE {_HELD} = :owner",
    "renew": "UPDATE ostinato_sessions SET expires = {now} + :seconds "
    "WHERE sid = :sid AND token = :token AND owner = :owner",
    "mine": "SELECT sid, invocation_id FROM ostinato_sessions WHERE {place} "
    "AND token = :token AND owner = :owner {lock row}",
    "clear": _CLEAR,
    "release": f"{_GIVEN_BACK}, invocation_id = '', begun = NULL WHERE sid = :sid",
    "park": f"{_GIVEN_BACK}, stuck = :reason WHERE sid = :sid",
    "hand over": f"UPDATE ostinato_sessions SET owner = '{NOBODY}', process = '', expires = 0, "
    "token = token + 1, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END "
    "WHERE sid = :sid",
    "cancel any": _CANCEL,
    "cancel": f"{_CANCEL} AND invocation_id = :invocation",
    "put": "INSERT INTO ostinato_inbox (sid, invocation_id, owner, process, payload, expires) "
    "VALUES (:sid, :invocation, :owner, :process, :payload, {now} + :seconds) "
    "{keep sid, invocation_id}",
    "messages": f"SELECT invocation_id, owner, process, payload, expires - {{now}} {_WAITS} "
    "ORDER BY pos",
    "free": "SELECT i.pos, i.invocation_id, o.app_name, o.user_id, o.session_id "
    "FROM ostinato_inbox i JOIN ostinato_sessions o ON o.sid = i.sid WHERE {is o.app_name app} "
    "AND o.owner = '' AND (i.owner = '' OR i.expires <= {now}) AND i.pos = (SELECT min(f.pos) "
    "FROM ostinato_inbox f WHERE f.sid = i.sid) ORDER BY i.pos LIMIT :limit {skip locked}",
    "take": "UPDATE ostinato_inbox SET owner = :owner, process = :process, "
    "expires = {now} + :seconds WHERE pos = :pos",
    "renew messages": "UPDATE ostinato_inbox SET expires = {now} + :seconds WHERE owner = :owner",
    "keep": f"UPDATE ostinato_inbox SET owner = '', expires = 0 WHERE {_OF_PLACE} "
    "AND invocation_id = :invocation",
    "drop": f"DELETE {_WAITS} AND invocation_id = :invocation",
    "waiting": f"{_WAITING} ORDER BY since LIMIT :limit",
    "waiting of app": f"{_WAITING} WHERE {{is app_name app}} ORDER BY since LIMIT :limit",
}


def compiled(statements: Mapping[str, str], dialect: Dialect) -> Statements:
    """Return statements in the words of one database."""
    sql = need("sqlalchemy", extra="sql")
    lists = (sql.bindparam("ids", expanding=True),)

    texts = {name: filled(one, dialect) for name, one in statements.items()}
    return {
        name: sql.text(one).bindparams(*(lists if ":ids" in one else ()))
        for name, one in texts.items()
    }


def filled(text: str, dialect: Dialect) -> str:
    """Return the text of a statement in the words of one database."""
    return re.sub(r"\{([^{}]+)\}", lambda found: _word(found.group(1), dialect), text)


def _word(what: str, dialect: Dialect) -> str:
    word, _, rest = what.partition(" ")
    if word == "is":
        return dialect.same(*rest.split())
    if word == "json":
        return dialect.json_of(rest)
    if word == "as":
        return dialect.as_json(rest.removeprefix("json "))
    if word == "keep":
        return dialect.upsert(rest)
    return {
        "now": dialect.now,
        "lock": dialect.lock,
        "lock row": "FOR UPDATE" if dialect.lock else "",
        "skip locked": dialect.skip_locked,
        "session": _names(dialect, "s.app_name", "s.user_id", "s.id"),
        "row": _names(dialect, "app_name", "user_id", "id"),
        "events": _names(dialect, "app_name", "user_id", "session_id"),
        "place": _names(dialect, "app_name", "user_id", "session_id"),
        "write journal": dialect.upsert(
            "sid, invocation_id, call_id",
            "tool",
            "result",
            "status",  # last: MySQL reads what it has just written
            unless="new.status = 'started' AND ostinato_journal.status = 'finished'",
        ),
    }[what]


def _names(dialect: Dialect, *columns: str) -> str:
    pairs = zip(columns, ("app", "user", "id"), strict=True)
    return " AND ".join(dialect.same(column, parameter) for column, parameter in pairs)


async def fetch(db: AsyncConnection, statement: TextClause, values: Mapping[str, Any]) -> list[Any]:
    """Execute a statement that reads; return its rows."""
    return list(await db.execute(statement, values))


async def fetch_one(db: AsyncConnection, statement: TextClause, values: Mapping[str, Any]) -> Any:
    """Execute a statement that reads; return its only row, None where there is none."""
    return (await db.execute(statement, values)).one_or_none()
