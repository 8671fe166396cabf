"""Every statement of the SQL store by name; braces mark what differs between databases.

`sql_rows.py`, `sql_appends.py` and `sql_leases.py` execute them inside transactions of
`sql_engines.py`. Parameters `app`, `user` and `id` name a session, `now` is the machine's time for
a database that goes by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..._optional import need
from ..base_session_service import HIDDEN_PREFIX
from ..store.lease_rules import HANDED_OVER
from .sql_dialects import Dialect

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
    "revision = :revision, last_micros = :last, update_micros = :update, updated = :updated, "
    "unindexed = 1 WHERE sid = :sid"
)
_CLEAR = "DELETE FROM ostinato_journal WHERE sid = :sid AND invocation_id = :invocation"

APPENDS = {
    "hold": "SELECT 1 FROM sessions WHERE {row} {lock row}",
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
    "FROM ostinato_inbox WHERE sid = :sid ORDER BY pos LIMIT 1",
    "payload": "SELECT payload FROM ostinato_inbox WHERE sid = :sid AND invocation_id = :message",
    "begun": "SELECT id, invocation_id, timestamp, {json event_data} FROM events WHERE {events} "
    "AND invocation_id = :message ORDER BY timestamp, id LIMIT 1",
    "take message": "DELETE FROM ostinato_inbox WHERE sid = :sid AND invocation_id = :invocation",
    "clear": _CLEAR,
    "journal": "INSERT INTO ostinato_journal (sid, invocation_id, call_id, status, tool, result) "
    "VALUES (:sid, :invocation, :call, :status, :tool, :result) {write journal}",
}

_LISTED = (
    "SELECT s.app_name, s.user_id, s.id, s.update_time, {json s.state}, o.update_micros, "
    "o.updated, COALESCE(o.sid, 0), CASE WHEN o.sid IS NULL THEN (SELECT count(*) FROM events e "
    "WHERE e.app_name = s.app_name AND e.user_id = s.user_id AND e.session_id = s.id) "
    f"ELSE o.revision END, {{json u.state}}, {{json a.state}} FROM {_OURS} {_SHARED}"
)
# Rows of a listing behind a place in it: `<=` beside the comparison of rows is for MySQL, which
# takes no index for the latter.
_BEHIND = (
    "{is s.app_name app} AND s.update_time <= :time "
    "AND (s.update_time, s.user_id, s.id) < (:time, :last_user, :last_id) "
    f"AND substr(s.id, 1, {len(HIDDEN_PREFIX)}) <> '{HIDDEN_PREFIX}'"
)
_OF_USER = "AND {is s.user_id user}"
_NEWEST_FIRST = "ORDER BY s.update_time DESC, s.user_id DESC, s.id DESC LIMIT :limit"
MANY = {
    "keys": "SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id",
    "with long-running calls": "SELECT DISTINCT app_name, user_id, session_id FROM events "
    "WHERE {json event_data} LIKE '%longRunningToolIds%' "
    "OR {json event_data} LIKE '%long_running_tool_ids%' ORDER BY app_name, user_id, session_id",
    # One look into an index for each app, as databases do not skip through one by themselves.
    "apps": "WITH RECURSIVE found(app) AS (SELECT min(app_name) FROM sessions UNION ALL "
    "SELECT (SELECT min(s.app_name) FROM sessions s WHERE s.app_name > found.app) FROM found "
    "WHERE found.app IS NOT NULL) SELECT app FROM found WHERE app IS NOT NULL",
    "apps with state": "SELECT app_name FROM app_states",
    "list": f"{_LISTED} WHERE {_BEHIND} {_NEWEST_FIRST}",
    "list user": f"{_LISTED} WHERE {_BEHIND} {_OF_USER} {_NEWEST_FIRST}",
    "of user": "SELECT s.app_name, s.user_id, s.id FROM sessions s "
    "WHERE {is s.app_name app} AND {is s.user_id user} LIMIT :limit {lock}",
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

# Documents `x` of the search's index that hold the words; and whether a session `w` has one. The
# latter is a count, as PostgreSQL would read all matches to answer an EXISTS.
_MATCHING = {
    "sqlite": "ostinato_words f CROSS JOIN ostinato_search x ON x.doc = f.rowid "
    "WHERE f.ostinato_words MATCH :query",
    "postgresql": "ostinato_search x WHERE x.words @@ CAST(:query AS tsquery)",
    "mysql": "ostinato_search x WHERE MATCH (x.words) AGAINST (:query IN BOOLEAN MODE)",
}
_HITS = {
    "sqlite": "(SELECT count(*) FROM ostinato_search x CROSS JOIN ostinato_words f "
    "ON f.rowid = x.doc WHERE x.sid = w.sid AND f.ostinato_words MATCH :query)",
    "postgresql": f"(SELECT count(*) FROM {_MATCHING['postgresql']} AND x.sid = w.sid)",
    # it reads all matches anyway: once
    "mysql": f"w.sid IN (SELECT x.sid FROM {_MATCHING['mysql']})",
}
_UNINDEXED = "FROM ostinato_sessions o WHERE o.unindexed = 1"
SEARCH = {
    "unindexed": "SELECT o.sid, o.app_name, o.user_id, o.session_id, o.revision, o.last_micros, "
    "(SELECT max(x.part) FROM ostinato_search x WHERE x.sid = o.sid), s.update_time, "
    "o.update_micros, {json s.state} FROM (SELECT o.sid AS number "
    f"{_UNINDEXED} ORDER BY o.sid DESC LIMIT :limit) newest "
    "JOIN ostinato_sessions o ON o.sid = newest.number JOIN sessions s "
    "ON s.app_name = o.app_name AND s.user_id = o.user_id AND s.id = o.session_id "
    "ORDER BY o.sid DESC",
    "count unindexed": f"SELECT count(*) FROM (SELECT 1 {_UNINDEXED} LIMIT :limit) counted",
    "oldest": "SELECT {json event_data} FROM events WHERE {events} ORDER BY timestamp, id "
    "LIMIT :count OFFSET :before",
    "latest": "SELECT {json event_data} FROM events WHERE {events} AND timestamp <= :last "
    "ORDER BY timestamp DESC, id DESC LIMIT :count",
    "same": "SELECT 1 FROM ostinato_sessions o WHERE o.sid = :sid AND o.revision = :revision "
    "AND o.unindexed = 1 {lock ours}",
    "write": "INSERT INTO ostinato_search (sid, part, words) VALUES (:sid, :part, {as words}) "
    "{write words}",
    "indexed": "UPDATE ostinato_sessions SET unindexed = 0 WHERE sid = :sid",
    "walk": f"SELECT w.*, {{hit}} FROM (SELECT s.app_name, s.user_id, s.id, s.update_time, o.sid "
    f"FROM {_OURS} WHERE {_BEHIND} {_NEWEST_FIRST}) w "
    "ORDER BY w.update_time DESC, w.user_id DESC, w.id DESC",
    "walk user": f"SELECT w.*, {{hit}} FROM (SELECT s.app_name, s.user_id, s.id, s.update_time, "
    f"o.sid FROM {_OURS} WHERE {_BEHIND} {_OF_USER} {_NEWEST_FIRST}) w "
    "ORDER BY w.update_time DESC, w.user_id DESC, w.id DESC",
    "count": "SELECT count(*) FROM (SELECT 1 FROM {matching} LIMIT :limit) counted",
    "found": "SELECT s.app_name, s.user_id, s.id, s.update_time, o.sid FROM (SELECT DISTINCT x.sid "
    "FROM {matching}) found JOIN ostinato_sessions o ON o.sid = found.sid JOIN sessions s "
    "ON s.app_name = o.app_name AND s.user_id = o.user_id AND s.id = o.session_id "
    f"WHERE {_BEHIND} {_NEWEST_FIRST}",
    "listed": f"{_LISTED} WHERE o.sid IN :ids",
    "seen": "SELECT name, value FROM ostinato_metadata WHERE name LIKE 'search_seen:%'",
    "changed": "SELECT s.user_id, s.id, s.update_time, o.sid, o.update_micros "
    f"FROM {_OURS} WHERE {{is s.app_name app}} AND s.update_time > :time "
    "ORDER BY s.update_time LIMIT :limit",
    "note seen": "INSERT INTO ostinato_metadata (name, value) VALUES (:name, :value) {write seen}",
    "forget": "DELETE FROM ostinato_search WHERE sid = :sid",
    "merge": "INSERT INTO ostinato_words(ostinato_words, rank) VALUES ('merge', :pages)",
    "changes": "SELECT total_changes()",
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
    f"SELECT {_NAMES} FROM ostinato_inbox i JOIN ostinato_sessions o ON o.sid = i.sid "
    "WHERE i.pos = (SELECT min(f.pos) FROM ostinato_inbox f WHERE f.sid = i.sid)"
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
    "hand over": f"UPDATE ostinato_sessions SET owner = '{HANDED_OVER}', process = '', "
    "expires = 0, token = token + 1, attempts = CASE WHEN attempts > 0 THEN attempts - :back "
    "ELSE 0 END WHERE sid = :sid",
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
    "keep own": f"UPDATE ostinato_inbox SET owner = '', expires = 0 WHERE {_OF_PLACE} "
    "AND invocation_id = :invocation AND owner = :owner",
    "drop own": f"DELETE {_WAITS} AND invocation_id = :invocation AND owner = :owner",
    "waiting": f"{_WAITING} ORDER BY i.pos LIMIT :limit",
    "waiting of app": f"{_WAITING} AND {{is app_name app}} ORDER BY i.pos LIMIT :limit",
}

_REQUEST = "call_id, kind, name, invocation_id, event_id, author, asked, question"
_OPEN = (
    "SELECT r.pos, o.app_name, o.user_id, o.session_id, r.call_id, r.kind, r.name, "
    "r.invocation_id, r.event_id, r.author, r.asked, r.question FROM ostinato_requests r "
    "JOIN ostinato_sessions o ON o.sid = r.sid WHERE r.answered IS NULL "
    "AND {is r.app_name app} "
)
_NEWEST_REQUESTS = "AND r.pos < :after ORDER BY r.pos DESC LIMIT :limit"
_OF_CALL = "WHERE sid = :sid AND call_id = :call"
REQUESTS = {
    "find": f"SELECT event_id, answered, answer, answered_by FROM ostinato_requests {_OF_CALL}",
    "insert": f"INSERT INTO ostinato_requests (sid, app_name, user_id, {_REQUEST}, answered, "
    "answer, answered_by) VALUES (:sid, :app, :user, :call, :kind, :name, :invocation, :event, "
    ":author, :asked, :question, :answered, :answer, :message)",
    "replace": "UPDATE ostinato_requests SET kind = :kind, name = :name, "
    "invocation_id = :invocation, event_id = :event, author = :author, asked = :asked, "
    "question = :question, answered = :answered, answer = :answer, answered_by = :message "
    f"{_OF_CALL}",
    "answer": "UPDATE ostinato_requests SET answered = :answered, answer = :answer, "
    f"answered_by = :message {_OF_CALL}",
    "delete": f"DELETE FROM ostinato_requests {_OF_CALL}",
    "event": "SELECT 1 FROM events WHERE {events} AND {is id event}",
    "release": "UPDATE ostinato_requests SET answered = NULL, answer = NULL, answered_by = NULL "
    f"WHERE {_OF_PLACE} AND answered_by = :message AND NOT EXISTS "
    "(SELECT 1 FROM events WHERE {events} AND invocation_id = :message)",
    "of session": f"SELECT {_REQUEST}, answered, answer, answered_by FROM ostinato_requests "
    f"WHERE {_OF_PLACE} ORDER BY asked",
    "number": "SELECT sid FROM ostinato_sessions WHERE {place}",
    "open": _OPEN + _NEWEST_REQUESTS,
    "open of user": f"{_OPEN}AND {{is r.user_id user}} {_NEWEST_REQUESTS}",
}


def compile_statements(statements: Mapping[str, str], dialect: Dialect) -> Statements:
    """Return statements in the SQL of one database."""
    sql = need("sqlalchemy", extra="sql")
    lists = (sql.bindparam("ids", expanding=True),)

    texts = {name: fill_template(one, dialect) for name, one in statements.items()}
    return {
        name: sql.text(one).bindparams(*(lists if ":ids" in one else ()))
        for name, one in texts.items()
    }


def fill_template(text: str, dialect: Dialect) -> str:
    """Return the text of a statement in the SQL of one database."""
    return re.sub(r"\{([^{}]+)\}", lambda found: _fill_word(found.group(1), dialect), text)


def _fill_word(what: str, dialect: Dialect) -> str:
    word, _, rest = what.partition(" ")
    if word == "is":
        return dialect.same(*rest.split())
    if word == "json":
        return dialect.json_of(rest)
    if what == "as words":
        return "CAST(:words AS tsvector)" if dialect.name == "postgresql" else ":words"
    if word == "as":
        return dialect.as_json(rest.removeprefix("json "))
    if word == "keep":
        return dialect.upsert(rest)
    return {
        "now": dialect.now,
        "lock": dialect.lock,
        "lock row": "FOR UPDATE" if dialect.lock else "",
        "skip locked": dialect.skip_locked,
        "lock ours": dialect.skip_locked.replace("OF i", "OF o"),
        "hit": _HITS[dialect.name],
        "matching": _MATCHING[dialect.name],
        "write seen": dialect.upsert("name", "value"),
        "write words": dialect.upsert("sid, part", "words"),
        "session": _match_names(dialect, "s.app_name", "s.user_id", "s.id"),
        "row": _match_names(dialect, "app_name", "user_id", "id"),
        "events": _match_names(dialect, "app_name", "user_id", "session_id"),
        "place": _match_names(dialect, "app_name", "user_id", "session_id"),
        "write mark": dialect.upsert("sid", "n", "finished", "hash"),
        "write journal": dialect.upsert(
            "sid, invocation_id, call_id",
            "tool",
            "result",
            "status",  # last: MySQL reads what it has just written
            unless="new.status = 'started' AND ostinato_journal.status = 'finished'",
        ),
    }[what]


def _match_names(dialect: Dialect, *columns: str) -> str:
    pairs = zip(columns, ("app", "user", "id"), strict=True)
    return " AND ".join(dialect.same(column, parameter) for column, parameter in pairs)


async def fetch_all(
    db: AsyncConnection, statement: TextClause, values: Mapping[str, Any]
) -> list[Any]:
    """Execute a statement that reads; return its rows."""
    return list(await db.execute(statement, values))


async def fetch_one(db: AsyncConnection, statement: TextClause, values: Mapping[str, Any]) -> Any:
    """Execute a statement that reads; return its only row, or None."""
    return (await db.execute(statement, values)).one_or_none()
