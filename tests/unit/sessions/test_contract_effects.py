"""The contract of every durable store of ours: the effects ledger."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ostinato import _clock
from ostinato.errors import InputValidationError
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite.sqlite_file import SqliteFile, connect
from ostinato.sessions.sqlite.sqlite_schema import FORMAT
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import JournalRow
from ostinato.sessions.store.effect_ledger import (
    Effect,
    EffectFilter,
    EffectSettings,
    EffectWriter,
    name_session,
)
from ostinato.sessions.store.effect_row import encode_effect
from tests.unit.sessions.conftest import made
from tests.unit.sessions.talk import begin, claim, said

KEPT = ["file", "sql file"]
SERVERS = ["postgres", "mariadb"]
HIDDEN = "_child:s1:c1"
NAMES: dict[str, Any] = {"app_name": "app", "user_id": "ann"}


STORES = [*KEPT, *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]


@pytest.fixture(params=STORES)
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with made(request.param, tmp_path) as service:
        keep_ledger(service, EffectSettings())
        yield service


@pytest.fixture(params=STORES)
async def chained(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with made(request.param, tmp_path) as service:
        keep_ledger(service, EffectSettings(chained=True))
        yield service


def keep_ledger(service: Any, settings: EffectSettings) -> None:
    """Let a store keep a ledger, as one that is made with these settings does."""
    service._effect_writer = writer = EffectWriter(settings)
    if isinstance(service, DatabaseSessionService):
        service._appends.effects.writer = service._postgres._effects = writer


def row(call: str, tool: str = "pay", resolution: str = "", home: str = "") -> JournalRow:
    rest = (2, "done", resolution, "", "FunctionTool") if resolution else None
    text = encode_effect(
        tool,
        "shop",
        (call, "e-1"),
        (b"a" * 12, b"r" * 12),
        5,
        rest or (1, "done", "", "", "FunctionTool"),
        HIDDEN if home else "",
    )
    return JournalRow("e-1", call, "effect", tool, text, home)


async def keep(store: Any, *rows: JournalRow, session_id: str = "s1") -> Session:
    session = await store.create_session(**NAMES, session_id=session_id)
    fence = await begin(store, session, claim())
    for one in rows:
        await store.append(session, [said("done")], [one], fence)
    return session


async def calls(store: Any, **which: Any) -> list[str]:
    page = await store.effects(EffectFilter(**which))
    return [effect.call_id for effect in page.effects]


async def test_effects_outlive_their_invocation(ledger: Any) -> None:
    session = await ledger.create_session(**NAMES, session_id="s1")
    fence = await begin(ledger, session, claim())
    finished = JournalRow("e-1", "c1", "finished", "pay", "{}")
    await ledger.append(session, [], [finished, row("c1"), row("c2")], fence)
    await ledger.append(session, [said("done")], [row("c3")], fence)
    await ledger.release((*session_key(session),), fence)
    assert await calls(ledger) == ["c3", "c2", "c1"]
    effect: Effect = (await ledger.effects(limit=1)).effects[0]
    assert effect.place == session_key(session)
    assert (effect.number, effect.tool, effect.agent) == (3, "pay", "shop")
    assert effect.key == "app/ann/s1/e-1/c3"
    assert effect.asked_by == "ann"
    assert (effect.attempts, effect.outcome, effect.in_doubt) == (1, "done", False)
    assert 0 < effect.finished - effect.begun < 0.1


@pytest.mark.parametrize("is_chained", [False, True])
async def test_effects_of_a_hidden_session_are_in_the_ledger_of_its_caller(
    ledger: Any, is_chained: bool
) -> None:
    keep_ledger(ledger, EffectSettings(chained=is_chained))
    outer = await ledger.create_session(**NAMES, session_id="s1")
    fence = await begin(ledger, outer, claim())
    hidden = await ledger.create_session(**NAMES, session_id=HIDDEN)
    inner = await begin(ledger, hidden, claim())
    for number in range(3):
        await ledger.append(hidden, [said("x")], [row(f"h{number}", home="s1")], inner)
        await ledger.append(outer, [said("y")], [row(f"o{number}")], fence)
    await ledger.delete_session(**NAMES, session_id=HIDDEN)
    page = await ledger.effects(EffectFilter(**NAMES, session_id="s1"))
    assert [one.call_id for one in page.effects] == ["o2", "h2", "o1", "h1", "o0", "h0"]
    assert page.effects[1].key == f"app/ann/{HIDDEN}/e-1/h2"
    assert (page.effects[0].ran_in, page.effects[1].ran_in) == ("", HIDDEN)
    report = await ledger.verify_effects()
    assert (report.rows, report.chained, report.problems) == (6, 6 * is_chained, [])
    assert [*report.spans] == ["app/ann/s1"]
    await ledger.delete_session(**NAMES, session_id="s1")
    assert await calls(ledger) == []


async def test_hidden_sessions_and_their_caller_write_at_once(ledger: Any) -> None:
    outer = await ledger.create_session(**NAMES, session_id="s1")
    writers = [(outer, await begin(ledger, outer, claim()), "")]
    for number in range(3):
        hidden = await ledger.create_session(**NAMES, session_id=f"{HIDDEN}{number}")
        writers.append((hidden, await begin(ledger, hidden, claim()), "s1"))

    async def write(session: Session, fence: Any, home: str) -> None:
        for number in range(4):
            one = row(f"{session.id}-{number}", home=home)
            await ledger.append(session, [said("x")], [one], fence)

    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(write(*writer))
    page = await ledger.effects()
    assert sorted(one.number for one in page.effects) == [*range(1, 17)]
    assert len({one.call_id for one in page.effects}) == 16


async def test_the_effects_of_a_hidden_session_whose_caller_is_gone_stay_with_it(
    ledger: Any,
) -> None:
    hidden = await ledger.create_session(**NAMES, session_id=HIDDEN)
    fence = await begin(ledger, hidden, claim())
    await ledger.append(hidden, [said("x")], [row("h", home="s1")], fence)
    assert await calls(ledger) == ["h"]


def session_key(session: Session) -> tuple[str, str, str]:
    return session.app_name, session.user_id, session.id


async def test_pages_and_filters(ledger: Any) -> None:
    rows = [row(f"c{n}", "pay" if n % 2 else "mail", "rerun" if n == 3 else "") for n in range(7)]
    await keep(ledger, *rows)
    await keep(ledger, row("other"), session_id="s2")
    found: list[str] = []
    page = await ledger.effects(limit=3)
    while True:
        found += [effect.call_id for effect in page.effects]
        if page.next is None:
            break
        page = await ledger.effects(limit=3, after=page.next)
    assert sorted(found) == sorted(["other", *(f"c{n}" for n in range(7))])
    assert await calls(ledger, **NAMES, session_id="s2") == ["other"]
    assert await calls(ledger, tool="mail") == ["c6", "c4", "c2", "c0"]
    assert await calls(ledger, in_doubt=True) == ["c3"]
    assert await calls(ledger, app_name="nobody") == []
    assert await calls(ledger, since=32503680000.0) == []
    page = await ledger.effects(EffectFilter(tool="mail"), limit=3)
    rest = await ledger.effects(EffectFilter(tool="mail"), limit=3, after=page.next)
    assert [one.call_id for one in (*page.effects, *rest.effects)] == ["c6", "c4", "c2", "c0"]


async def test_effects_go_with_their_session_and_by_age(ledger: Any) -> None:
    await keep(ledger, row("c1"), row("c2"))
    await keep(ledger, row("c3"), session_id="s2")
    await ledger.delete_session(**NAMES, session_id="s1")
    assert await calls(ledger) == ["c3"]
    assert await ledger.prune_effects(before=1.0) == 0
    assert await ledger.prune_effects(before=32503680000.0) == 1
    assert await calls(ledger) == []


async def test_a_chain_is_verified_and_pruned(chained: Any) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(5)))
    await keep(chained, row("other"), session_id="s2")
    report = await chained.verify_effects()
    assert (report.rows, report.sessions, report.chained, report.problems) == (6, 2, 6, [])
    assert len(report.heads) == 2
    assert await chained.prune_effects(before=32503680000.0, limit=2) == 2
    report = await chained.verify_effects()
    assert (report.rows, report.trimmed, report.problems) == (4, 1, [])


async def remove(store: Any, *numbers: int, session_id: str = "s1") -> None:
    """Delete rows of a session by hand."""
    sessions = "sessions" if isinstance(store, SqliteSessionService) else "ostinato_sessions"
    column = "id" if sessions == "sessions" else "session_id"
    listed = ", ".join(map(str, numbers))
    statement = (
        f"DELETE FROM ostinato_effects WHERE n IN ({listed}) AND sid = "
        f"(SELECT sid FROM {sessions} WHERE {column} = '{session_id}')"
    )
    if isinstance(store, SqliteSessionService):
        await store._write_rows(lambda db: db.execute(statement) and None)
    else:
        await store._write_rows(lambda db: db.exec_driver_sql(statement))


REMOVED = (
    "session 'app/ann/s1', row 3: is the first one: rows before it were not pruned, and are gone"
)


async def test_rows_removed_at_the_beginning_are_noticed(chained: Any) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(5)))
    await keep(chained, row("other"), session_id="s2")
    await remove(chained, 1, 2)
    assert REMOVED in (await chained.verify_effects()).problems


async def test_rows_removed_behind_pruned_ones_are_noticed(chained: Any) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(6)))
    assert await chained.prune_effects(before=32503680000.0, limit=1) == 1
    assert (await chained.verify_effects()).problems == []
    await remove(chained, 2)
    assert REMOVED in (await chained.verify_effects()).problems


async def test_a_chain_continues_where_pruning_ended(chained: Any) -> None:
    session = await chained.create_session(**NAMES, session_id="s1")
    fence = await begin(chained, session, claim())
    await chained.append(session, [said("done")], [row("c1"), row("c2")], fence)
    before = await chained.verify_effects()
    assert await chained.prune_effects(before=32503680000.0) == 2
    report = await chained.verify_effects(before.heads, before.spans)
    assert (report.rows, report.problems) == (0, [])
    assert report.pruned == ["session 'app/ann/s1': rows 1 to 2"]
    await chained.append(session, [said("more")], [row("c3"), row("c4")], fence)
    report = await chained.verify_effects(before.heads, before.spans)
    assert (report.rows, report.trimmed, report.problems) == (2, 1, [])
    assert report.spans == {"app/ann/s1": (3, 4)}
    again = await chained.verify_effects(report.heads, report.spans)
    assert (again.problems, again.pruned) == ([], [])
    assert await chained.prune_effects(before=32503680000.0) == 2
    late = await chained.verify_effects(before.heads, before.spans)
    assert (late.problems, late.pruned) == ([], ["session 'app/ann/s1': rows 1 to 4"])
    await chained.delete_session(**NAMES, session_id="s1")
    assert "is gone" in (await chained.verify_effects(before.heads, before.spans)).problems[0]


@pytest.mark.parametrize("is_chained", [False, True])
async def test_a_deleted_session_is_accepted_and_removed_rows_are_not(
    ledger: Any, is_chained: bool
) -> None:
    keep_ledger(ledger, EffectSettings(chained=is_chained))
    await keep(ledger, row("c1"), row("c2"))
    await keep(ledger, row("c1"), session_id="50%2F")
    await keep(ledger, row("c1"), session_id="s3")
    noted = await ledger.verify_effects()
    await ledger.delete_session(**NAMES, session_id="50%2F")
    report = await ledger.verify_effects(noted.heads, noted.spans)
    assert report.erased == ["app/ann/50%252F"]
    assert "is gone" in report.problems[0] or "are gone" in report.problems[0]
    report = await ledger.verify_effects(noted.heads, noted.spans, erased_ok=True)
    assert (report.erased, report.problems) == (["app/ann/50%252F"], [])
    await remove(ledger, 1, session_id="s3")
    report = await ledger.verify_effects(noted.heads, noted.spans, erased_ok=True)
    assert report.erased == ["app/ann/50%252F"]
    (problem,) = report.problems
    assert "session 'app/ann/s3'" in problem


async def test_a_forged_mark_is_seen_in_comparison(chained: Any) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(4)))
    noted = await chained.verify_effects()
    await chained.prune_effects(before=32503680000.0, limit=2)  # as one who forges the mark
    report = await chained.verify_effects(noted.heads, noted.spans)
    assert report.pruned == ["session 'app/ann/s1': rows 1 to 2"]


async def test_without_a_chain_counts_are_compared(ledger: Any) -> None:
    await keep(ledger, *(row(f"c{n}") for n in range(4)))
    noted = await ledger.verify_effects()
    await remove(ledger, 4)
    assert (await ledger.verify_effects()).problems == []
    report = await ledger.verify_effects(noted.heads, noted.spans)
    assert report.problems == [
        "session 'app/ann/s1': rows up to 4 of the earlier verification are gone"
    ]


def test_names_of_sessions_are_told_apart() -> None:
    assert name_session(("a", "u", "s1/x")) != name_session(("a", "u/s1", "x"))


CHANGES = {
    "changed": ("UPDATE ostinato_effects SET data = replace(data, 'pay', 'tax') WHERE n = 2",),
    "changed time": ("UPDATE ostinato_effects SET finished = finished + 1 WHERE n = 3",),
    "removed": ("DELETE FROM ostinato_effects WHERE n = 2",),
    "reordered": (
        "UPDATE ostinato_effects SET n = 99 WHERE n = 2",
        "UPDATE ostinato_effects SET n = 2 WHERE n = 3",
        "UPDATE ostinato_effects SET n = 3 WHERE n = 99",
    ),
    "damaged": ("UPDATE ostinato_effects SET data = 'pay' WHERE n = 3",),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_row_is_named(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.db"
    service = SqliteSessionService(path, effects=EffectSettings(chained=True))
    await keep(service, *(row(f"c{n}") for n in range(4)))
    whole = await service.verify_effects()
    await service.close()
    with closing(sqlite3.connect(path)) as db:
        for statement in CHANGES[change]:
            db.execute(statement)
        db.commit()
    service = SqliteSessionService(path)
    report = await service.verify_effects()
    page = await service.effects()
    await service.close()
    assert "session 'app/ann/s1', row" in report.problems[0]
    assert whole.problems == []
    if change == "damaged":
        assert "row 3: is damaged" in report.problems[0]
        assert [bool(effect.damaged) for effect in page.effects] == [False, True, False, False]


async def test_damage_of_any_kind_stops_no_run(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    service = SqliteSessionService(path, effects=EffectSettings(chained=True))
    session = await keep(service, row("c1"), row("c2"))
    await service.flush()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE ostinato_effects SET finished = 'late', data = x'00ff' WHERE n = 2")
        db.execute("UPDATE ostinato_effects SET data = '[3, {}]' WHERE n = 1")
        db.commit()
    await service.append(session, [said("x")], [row("c3")])
    page, report = await service.effects(), await service.verify_effects()
    assert sorted((one.number, bool(one.damaged)) for one in page.effects) == [
        (1, True),
        (2, True),
        (3, False),
    ]
    assert [
        problem.split(":")[0][-5:] for problem in report.problems if "is damaged" in problem
    ] == [
        "row 1",
        "row 2",
    ]
    await service.close()


DAMAGE = {
    "deeply nested": ("data = ?", "[" * 100_000),
    "number is a text": ("n = ?", "x"),
    "number is a blob": ("n = ?", b"A"),
    "time is beyond every calendar": ("finished = ?", 2**63 - 1),
    "time is before every calendar": ("finished = ?", -(2**63)),
    "time has a fraction": ("finished = finished + ?", 0.5),
    "data are not UTF-8": ("data = cast(? as text)", b"\xff\tp"),
    "whole data are not UTF-8": ("data = cast(? || data as text)", b"\xff"),
    "hash is not UTF-8": ("hash = cast(? as text)", b"\xff\tp"),
    "hash is a blob": ("hash = ?", b"\xff"),
}


@pytest.mark.parametrize("store", KEPT)
@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, store: str, damage: str) -> None:
    change, value = DAMAGE[damage]
    async with made(store, tmp_path) as service:
        keep_ledger(service, EffectSettings(chained=True))
        await keep(service, *(row(f"c{n}") for n in range(3)))
        noted = await service.verify_effects()
        await service.flush()
        with closing(sqlite3.connect(file_of(tmp_path))) as db:
            db.execute(f"UPDATE ostinato_effects SET {change} WHERE n = 2", (value,))
            db.commit()
        for report in (
            await service.verify_effects(),
            await service.verify_effects(noted.heads, noted.spans),
        ):
            number = repr(value) if change.startswith("n ") else 2
            assert f"session 'app/ann/s1', row {number}: is damaged" in "\n".join(report.problems)
            json.dumps([report.heads, report.spans])
        page = await service.effects()
        assert len(page.effects) == 3
        json.dumps([effect.to_json() for effect in page.effects])
        if not change.startswith("hash"):
            assert sum(bool(effect.damaged) for effect in page.effects) == 1
        for effect in page.effects:
            datetime.fromtimestamp(effect.finished)


def file_of(folder: Path) -> Path:
    """Return the only database in a folder."""
    return next(folder.glob("*.db"))


async def test_rows_without_a_hash_behind_hashed_ones_are_a_finding(chained: Any) -> None:
    session = await keep(chained, row("c1"), row("c2"))
    keep_ledger(chained, EffectSettings())
    await chained.append(session, [said("x")], [row("c3")])
    report = await chained.verify_effects()
    assert report.problems == [f"session 'app/ann/s1', row 3: {UNHASHED}"]


UNHASHED = "has no hash, and the ledger was chained before: it was forged, or written unchained"


async def test_a_session_without_hashes_after_the_chain_began_is_a_finding(
    chained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(chained, row("c1"), row("c2"))
    noted = await chained.verify_effects()
    keep_ledger(chained, EffectSettings())
    time = _clock.now()
    monkeypatch.setattr(_clock, "now", lambda: time + 60)
    await keep(chained, row("c1"), row("c2"), session_id="s2")
    problem = f"session 'app/ann/s2', row 2: {UNHASHED}"
    assert (await chained.verify_effects()).problems == [problem]
    compared = await chained.verify_effects(noted.heads, noted.spans)
    assert compared.problems == [problem.replace("row 2", "row 1"), problem]


async def test_a_back_dated_session_without_hashes_is_found_in_comparison(ledger: Any) -> None:
    await keep(ledger, row("c1"), session_id="s0")
    keep_ledger(ledger, EffectSettings(chained=True))
    await keep(ledger, row("c1"))
    noted = await ledger.verify_effects()
    keep_ledger(ledger, EffectSettings())
    await keep(ledger, row("c1"), session_id="s2")
    time = "UPDATE ostinato_effects SET finished = 1000 WHERE hash IS NULL"
    if isinstance(ledger, SqliteSessionService):
        await ledger._write_rows(lambda db: db.execute(time) and None)
    else:
        await ledger._write_rows(lambda db: db.exec_driver_sql(time))
    assert (await ledger.verify_effects()).problems == []
    report = await ledger.verify_effects(noted.heads, noted.spans)
    assert report.problems == [f"session 'app/ann/s2', row 1: {UNHASHED}"]


async def test_rows_from_before_the_chain_need_no_hash(ledger: Any) -> None:
    session = await keep(ledger, row("c1"), row("c2"))
    await keep(ledger, row("c1"), session_id="s2")
    noted = await ledger.verify_effects()
    keep_ledger(ledger, EffectSettings(chained=True))
    await ledger.append(session, [said("x")], [row("c3")])
    report = await ledger.verify_effects(noted.heads, noted.spans)
    assert (report.rows, report.chained, report.problems) == (4, 1, [])


async def test_a_pruned_chain_does_not_go_on_without_hashes(chained: Any) -> None:
    session = await keep(chained, row("c1"), row("c2"))
    assert await chained.prune_effects(before=32503680000.0) == 2
    keep_ledger(chained, EffectSettings())
    await chained.append(session, [said("x")], [row("c3")])
    report = await chained.verify_effects()
    assert report.problems == [f"session 'app/ann/s1', row 3: {UNHASHED}"]


async def test_a_baseline_without_the_hash_of_a_hashed_row_is_a_finding(chained: Any) -> None:
    await keep(chained, row("c1"), row("c2"))
    noted = await chained.verify_effects()
    report = await chained.verify_effects({}, noted.spans)
    assert report.problems == [
        "session 'app/ann/s1', row 2: has a hash, and had none at the earlier verification"
    ]


async def test_old_rows_are_deleted_by_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.sessions.store.effect_ledger._TRIM_EVERY", 3)
    path = tmp_path / "s.db"
    service = SqliteSessionService(path, effects=EffectSettings(keep_days=1))
    session = await keep(service, row("c1"), row("c2"))
    await service.flush()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE ostinato_effects SET finished = finished - 172800000 WHERE n = 1")
        db.commit()
    await service.append(session, [said("x")], [row("c3")])
    assert await calls(service) == ["c3", "c2"]
    await service.close()


async def test_without_settings_no_ledger_is_kept(tmp_path: Path) -> None:
    service = SqliteSessionService(tmp_path / "s.db")
    await keep(service, row("c1"))
    assert not service.keeps_effects
    assert await calls(service) == []
    await service.close()


async def test_a_file_of_the_version_before_gets_its_ledger(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    before = replace(FORMAT, migrations=FORMAT.migrations[:-2])
    connection = connect(SqliteFile.of(path, before))
    connection.execute(
        "INSERT INTO sessions(app, user, id, created, updated) VALUES('app', 'ann', 'old', 1, 1)"
    )
    connection.close()
    service = SqliteSessionService(path, effects=EffectSettings())
    old = await service.get_session(**NAMES, session_id="old")
    assert old is not None
    fence = await begin(service, old, claim())
    await service.append(old, [said("done")], [row("c1")], fence)
    assert await calls(service) == ["c1"]
    await service.close()


async def test_a_ledger_that_was_pruned_before_there_were_marks_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    connection = connect(SqliteFile.of(path, replace(FORMAT, migrations=FORMAT.migrations[:-1])))
    connection.execute(
        "INSERT INTO sessions(app, user, id, created, updated) VALUES('app', 'ann', 'old', 1, 1)"
    )
    connection.execute(
        "INSERT INTO ostinato_effects(sid, n, finished, data, hash) VALUES(1, 3, 5, ?, 'h')",
        (row("c3").result,),
    )
    connection.close()
    service = SqliteSessionService(path, effects=EffectSettings(chained=True))
    report = await service.verify_effects()
    assert (report.rows, report.trimmed, report.problems) == (1, 1, [])
    await service.close()


@pytest.mark.parametrize(
    "name",
    ["sql file", *(pytest.param(n, marks=pytest.mark.service) for n in SERVERS)],
)
async def test_a_database_of_the_version_before_gets_its_ledger(tmp_path: Path, name: str) -> None:
    async with made(name, tmp_path) as first:
        old = await first.create_session(**NAMES, session_id="old")
        await first._write_rows(drop_ledger)
        again = DatabaseSessionService(
            first._target.url.render_as_string(hide_password=False), effects=EffectSettings()
        )
        fence = await begin(again, old, claim())
        await again.append(old, [said("done")], [row("c1")], fence)
        assert await calls(again) == ["c1"]
        await again.close()


@pytest.mark.parametrize(
    "name",
    ["sql file", *(pytest.param(n, marks=pytest.mark.service) for n in SERVERS)],
)
async def test_a_database_that_was_pruned_before_gets_its_marks(tmp_path: Path, name: str) -> None:
    async with made(name, tmp_path) as first:
        keep_ledger(first, EffectSettings(chained=True))
        await keep(first, *(row(f"c{n}") for n in range(3)))
        assert await first.prune_effects(before=32503680000.0, limit=1) == 1
        await first._write_rows(lambda db: db.exec_driver_sql("DROP TABLE ostinato_effect_marks"))
        again = DatabaseSessionService(first._target.url.render_as_string(hide_password=False))
        report = await again.verify_effects()
        assert (report.rows, report.trimmed, report.problems) == (2, 1, [])
        await again.close()


async def drop_ledger(db: Any) -> None:
    await db.exec_driver_sql("DROP TABLE ostinato_effect_marks")
    await db.exec_driver_sql("DROP TABLE ostinato_effects")


def test_settings_are_checked() -> None:
    with pytest.raises(InputValidationError, match="keep_days"):
        EffectSettings(keep_days=0)


async def change(store: Any, *statements: str) -> None:
    """Change the ledger by hand."""
    for statement in statements:
        if isinstance(store, SqliteSessionService):
            await store._write_rows(lambda db, text=statement: db.execute(text) and None)
        else:
            await store._write_rows(lambda db, text=statement: db.exec_driver_sql(text))


COPY = "INSERT INTO ostinato_effects SELECT sid, {}, 1000, data, NULL FROM ostinato_effects "


@pytest.mark.parametrize("number", [0, -7])
async def test_a_row_below_the_first_number_is_a_finding(chained: Any, number: int) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(3)))
    noted = await chained.verify_effects()
    await change(chained, COPY.format(number) + "WHERE n = 2")
    for earlier in ((), (noted.heads, noted.spans)):
        report = await chained.verify_effects(*earlier)
        assert report.problems == [
            f"session 'app/ann/s1', row {number}: is damaged: its number is {number}, and a ledger "
            "counts from 1"
        ]
    await chained.prune_effects(before=10.0)
    assert (await chained.verify_effects()).problems != []


async def test_a_row_below_pruned_ones_is_a_finding(chained: Any) -> None:
    await keep(chained, *(row(f"c{n}") for n in range(4)))
    assert await chained.prune_effects(before=32503680000.0, limit=2) == 2
    noted = await chained.verify_effects()
    for number in (1, 2):
        await change(chained, COPY.format(number) + "WHERE n = 4")
        there = f"session 'app/ann/s1', row {number}: is there, though rows up to 2 were pruned"
        assert there in (await chained.verify_effects()).problems[0]
        await change(chained, "DELETE FROM ostinato_effect_marks")
        report = await chained.verify_effects(noted.heads, noted.spans)
        assert "was not there at the earlier verification" in "\n".join(report.problems)
        await remove(chained, number)
        await change(
            chained,
            "INSERT INTO ostinato_effect_marks (sid, n, finished) "
            "SELECT sid, 2, 0 FROM ostinato_effects GROUP BY sid",
        )


async def test_hashes_removed_from_all_sessions_are_a_finding_of_a_chained_store(
    chained: Any,
) -> None:
    await keep(chained, row("c1"), row("c2"))
    await keep(chained, row("c1"), session_id="s2")
    stripped = "UPDATE ostinato_effects SET hash = NULL, data = replace(data, 'pay', 'get')"
    await change(chained, stripped)
    problems = (await chained.verify_effects()).problems
    assert [one.split(":")[0] for one in problems] == [
        "session 'app/ann/s1', row 2",
        "session 'app/ann/s2', row 1",
    ]
    assert "has no hash, and this store keeps a chain" in problems[0]
    keep_ledger(chained, EffectSettings())
    assert (await chained.verify_effects()).problems == []  # docs/promises.md says so


async def test_hashes_removed_from_the_oldest_session_are_a_finding_of_a_chained_store(
    chained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = _clock.now()
    monkeypatch.setattr(_clock, "now", lambda: time)
    await keep(chained, row("c1"), row("c2"))
    monkeypatch.setattr(_clock, "now", lambda: time + 60)
    await keep(chained, row("c1"), session_id="s2")
    await change(
        chained, f"UPDATE ostinato_effects SET hash = NULL WHERE finished < {int(time * 1000) + 1}"
    )
    (problem,) = (await chained.verify_effects()).problems
    assert problem.startswith("session 'app/ann/s1', row 2: has no hash")


async def test_sessions_from_before_the_chain_are_accepted_by_a_verification_of_then(
    ledger: Any,
) -> None:
    await keep(ledger, row("c1"), row("c2"))
    second = await keep(ledger, row("c1"), session_id="s2")
    noted = await ledger.verify_effects()
    keep_ledger(ledger, EffectSettings(chained=True))
    await ledger.append(second, [said("x")], [row("c2")])
    assert (await ledger.verify_effects(noted.heads, noted.spans)).problems == []
    (problem,) = (await ledger.verify_effects()).problems
    assert problem.startswith("session 'app/ann/s1', row 2: has no hash")


MARKS = {
    "number": ("'x', 5, NULL", "its number is 'x'"),
    "low": ("0, 5, NULL", "its number is 0, and a ledger counts from 1"),
    "time": ("1, 'y', NULL", "its time is 'y'"),
    "hash": ("1, 5, x'00'", "its hash is b'\\x00'"),
}


@pytest.mark.parametrize("store", KEPT)
@pytest.mark.parametrize("damage", MARKS)
async def test_a_damaged_mark_is_named(tmp_path: Path, store: str, damage: str) -> None:
    values, what = MARKS[damage]
    async with made(store, tmp_path) as service:
        keep_ledger(service, EffectSettings(chained=True))
        session = await keep(service, row("c1"))
        noted = await service.verify_effects()
        await change(
            service,
            "INSERT INTO ostinato_effect_marks (sid, n, finished, hash) "
            f"SELECT sid, {values} FROM ostinato_effects",
        )
        for earlier in ((), (noted.heads, noted.spans)):
            problems = (await service.verify_effects(*earlier)).problems
            assert f"session 'app/ann/s1': its mark of pruning is damaged: {what}" in problems
        await remove(service, 1)
        await service.append(session, [said("x")], [row("c2")])
        assert await calls(service) == ["c2"]


@pytest.mark.parametrize("store", KEPT)
async def test_a_damaged_last_number_stops_no_run(tmp_path: Path, store: str) -> None:
    async with made(store, tmp_path) as service:
        keep_ledger(service, EffectSettings(chained=True))
        session = await keep(service, row("c1"), row("c2"))
        await change(service, "UPDATE ostinato_effects SET n = 'x' WHERE n = 2")
        await service.append(session, [said("x")], [row("c3")])
        await change(service, "UPDATE ostinato_effects SET n = 2.5 WHERE n = 2")
        await service.append(session, [said("x")], [row("c4")])
        found = [(one.call_id, one.number) for one in (await service.effects()).effects]
        assert sorted(found) == [("", 0), ("", 0), ("c1", 1), ("c4", 4)]


@pytest.mark.parametrize("store", KEPT)
async def test_rows_and_marks_of_no_session_are_a_finding(tmp_path: Path, store: str) -> None:
    async with made(store, tmp_path) as service:
        keep_ledger(service, EffectSettings())
        await keep(service, row("c1"), row("c2"))
        noted = await service.verify_effects()
        await service.flush()
        with closing(sqlite3.connect(file_of(tmp_path))) as db:  # without foreign keys
            db.execute(
                "INSERT INTO ostinato_effects SELECT 77, n, 5, data, hash FROM ostinato_effects"
            )
            db.execute("INSERT INTO ostinato_effect_marks VALUES(77, 1, 5, NULL)")
            db.execute("INSERT INTO ostinato_effect_marks VALUES(99, 1, 5, NULL)")
            db.commit()
        for earlier in ((), (noted.heads, noted.spans)):
            report = await service.verify_effects(*earlier, erased_ok=True)
            assert (report.rows, report.orphaned) == (2, 4)
            assert [one.split(";")[0] for one in report.problems] == [
                "session number 77, which the store does not hold: 2 rows and 1 marks of pruning",
                "session number 99, which the store does not hold: 0 rows and 1 marks of pruning",
            ]
        assert await service.prune_effects(before=1.0) == 2
        assert (await service.verify_effects()).orphaned == 2


@pytest.mark.parametrize("sid", [0, -5])
async def test_rows_of_a_session_with_any_number_are_checked(tmp_path: Path, sid: int) -> None:
    async with made("file", tmp_path) as service:
        keep_ledger(service, EffectSettings(chained=True))
        await keep(service, row("c1"))
        await change(
            service,
            "INSERT INTO sessions(sid, app, user, id, created, updated) "
            f"VALUES({sid}, 'app', 'eve', 'old', 1, 1)",
            f"INSERT INTO ostinato_effects SELECT {sid}, 1, 5, data, 'h' FROM ostinato_effects",
        )
        (problem,) = (await service.verify_effects()).problems
        assert problem.startswith("session 'app/eve/old', row 1: was changed")
