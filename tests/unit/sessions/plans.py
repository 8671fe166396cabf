"""A scenario in which a store sends every statement it knows, and what plans of these scan."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ostinato.sessions.store.durable_store import InboxMessage, JournalRow
from tests.unit.sessions.talk import OWNER, PLACE, begin, claim, reloaded, said

GROWING = frozenset(
    (
        "sessions",
        "events",
        "session_state",
        "shared_state",
        "scopes",
        "user_states",
        "ostinato_sessions",
        "ostinato_lease",
        "ostinato_journal",
        "ostinato_inbox",
        "ostinato_requests",
        "ostinato_summaries",
        "ostinato_search",
        "ostinato_unindexed",
    )
)
"""Tables that grow with what is stored."""


async def do_everything(store: Any) -> None:
    """Do with a store what runners, servers and commands do with it."""
    session = await store.create_session(**OWNER, session_id="s1", state={"k": 1, "user:u": 1})
    fence = await begin(store, session, claim(), said("hello", {"k": 2, "app:a": 1}))
    rows = [JournalRow("e-1", "c1", "started", "tool"), JournalRow("e-1", "c1", "finished", "t")]
    await store.append(session, [said("answer", {"k": 3, "user:u": 2})], rows, fence)
    await store.journal(PLACE, "e-1")
    await store.lease(PLACE)
    await store.renew([(PLACE, fence)], 30.0)
    await store.request_cancel(PLACE, "e-1")
    await store.request_cancel(PLACE)
    for app in (None, "app"):
        await store.open_leases(app, stuck=False)
        await store.open_leases(app, stuck=True)
    for number in range(3):
        message = InboxMessage(f"m{number}", "" if number else "me", "p", "{}")
        await store.put_message(PLACE, message, 30.0)
    await store.messages(PLACE)
    for app in (None, "app"):
        await store.waiting_places(app)
    await store.renew_messages("me", 30.0)
    await store.leave_message(PLACE, "m0", keep=True)
    await store.leave_message(PLACE, "m1", keep=False)
    await store.release(PLACE, fence)
    taken = await store.take_messages("app", "me", "p", 30.0, 10)
    assert taken == [(PLACE, "m0")]
    fence = await begin(store, session, claim(invocation="m0"), said("again"))
    await store.hand_over(PLACE, fence)
    fence = await begin(store, session, claim("you", "m0", jump=True), said("more"))
    await store.park(PLACE, fence, "stuck")
    other = await store.get_session(**OWNER, session_id="s1")
    await store.append_event(other, said("from outside", {"k": 9}))
    await read_and_search(store, other)
    await store.delete_session(**OWNER, session_id="s2")
    await store.delete_sessions_before("app", 1.0)
    await store.delete_user("app", "nobody")


async def read_and_search(store: Any, session: Any) -> None:
    """Read sessions in every way, and fork one."""
    await reloaded(store, session)
    await reloaded(store, session, num_recent_events=1)
    await reloaded(store, session, after_timestamp=1.0)
    await store.initial_state(session)
    await store.get_user_state(**OWNER)
    await store.open_session(**OWNER, session_id="s1", complete=False)
    await store.fork_session(**OWNER, session_id="s1", new_session_id="s2")
    for how in ({"app_name": "app"}, OWNER, {"app_name": None}):
        page = await store.list_sessions(**how, page_size=1)
        if page.next_page_token:
            await store.list_sessions(**how, page_size=1, page_token=page.next_page_token)
    for words in ("filling", "answer"):
        for user in (None, "ann"):
            await store.search_sessions(app_name="app", text=words, user_id=user, page_size=1)


async def fill(store: Any, sessions: int) -> None:
    """Store sessions beside those of the scenario."""
    for number in range(sessions):
        made = await store.create_session(
            app_name="app", user_id=f"user{number % 50}", session_id=f"f{number}"
        )
        await store.append(made, [said("filling"), said(f"more{number}")])
    while await store.index_sessions():
        pass


def sqlite_scans(statement: str, plan: Iterable[str]) -> list[str]:
    """Return the lines of a plan that read a whole growing table.

    Args:
      statement: the statement.
      plan: the last column of `EXPLAIN QUERY PLAN`.
    """
    names = dict.fromkeys(GROWING)
    aliases = re.findall(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?", statement)
    scanned = set(names) | {alias for table, alias in aliases if table in GROWING and alias}
    lines = list(plan)
    # in the order of a key, up to the limit
    bounded = "LIMIT" in statement and not any("TEMP B-TREE FOR ORDER" in line for line in lines)
    found: list[str] = []
    for line in lines:
        match = re.match(r"(?:SCAN|BLOOM FILTER ON) (\w+)(.*)", line)
        if match is None or match[1] not in scanned or "VIRTUAL TABLE" in match[2]:
            continue
        if bounded and ("USING" in match[2] or "ostinato_unindexed" in statement):
            continue
        found.append(line)
    return found


def postgres_scans(statement: str, plan: str | list[Any]) -> list[str]:
    """Return the nodes of a plan that read a whole growing table.

    Args:
      statement: the statement.
      plan: what `EXPLAIN (FORMAT JSON)` gives.
    """
    tree: Any = json.loads(plan) if isinstance(plan, str) else plan
    bounded = "LIMIT" in statement
    found: list[str] = []

    def look(node: dict[str, Any]) -> None:
        table = node.get("Relation Name")
        kind = node["Node Type"]
        whole = kind == "Seq Scan" or (
            kind in ("Index Scan", "Index Only Scan") and "Index Cond" not in node and not bounded
        )
        if table in GROWING and whole:
            found.append(f"{kind} on {table}")
        for each in node.get("Plans", ()):
            look(each)

    look(tree[0]["Plan"])
    return found
