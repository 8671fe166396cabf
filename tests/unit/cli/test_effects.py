"""`ostinato effects` and `ostinato prove`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.hosting.store_address import parse_store
from ostinato.hosting.stores import open_store
from tests.unit.cli.conftest import MakeAgent, Ostinato

DESK = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call

def note(text: str) -> str:
    return "noted"

def answer(request):
    last = request.contents[-1].parts[-1]
    return call("note", text=last.text) if last.text else "Noted."

root_agent = Agent(name="desk", model=FunctionModel(answer), tools=[note])
"""
EMPTY = '{"rows": 0, "heads": {}, "spans": {}}'
SCENARIO = {"steps": ["milk"], "model": [{"call": "note", "args": {"text": "milk"}}, "Done."]}


@pytest.fixture
def desk(make_agent: MakeAgent, ostinato: Ostinato) -> Ostinato:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first")
    ostinato("run", "desk", "eggs", "--session", "second")
    return ostinato


def test_effects_are_listed_and_exported(desk: Ostinato) -> None:
    lines = desk("effects").out.splitlines()
    assert len(lines) == 2
    assert "note  done" in lines[0]
    assert "desk/user/second" in lines[0]
    assert "desk/user/first" in desk("effects", "fir").out
    assert "No effects found" in desk("effects", "--tool", "pay").out
    assert "No effects found" in desk("effects", "--in-doubt").out
    assert "There are more" in desk("effects", "--limit", "1").out
    assert len(desk("effects", "--since", "1h", "--app", "desk").out.splitlines()) == 2
    exported = [json.loads(line) for line in desk("effects", "--jsonl").out.splitlines()]
    assert [one["session_id"] for one in exported] == ["second", "first"]
    assert exported[0]["args_digest"] != exported[1]["args_digest"]
    assert exported[0]["result_digest"] == exported[1]["result_digest"]
    assert exported[0]["key"].endswith(exported[0]["call_id"])


def test_verify_names_what_is_missing(desk: Ostinato) -> None:
    done = desk("effects", "verify")
    assert (done.code, "2 effects of 2 sessions" in done.out) == (0, True)
    assert "No row has a hash" in done.out
    with closing(sqlite3.connect(".ostinato/sessions.db")) as db:
        db.execute("UPDATE ostinato_effects SET data = 'x' WHERE sid = 1")
        db.commit()
    done = desk("effects", "verify")
    assert done.code == 1
    assert "session 'desk/user/first', row 1: is damaged" in done.out
    assert "row 1 is damaged" in desk("effects", "first").out


def test_verify_accepts_deleted_sessions(desk: Ostinato) -> None:
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    assert desk("sessions", "delete", "first", "--yes").code == 0
    done = desk("effects", "verify", "--against", "heads.json")
    assert (done.code, "say --erased-ok" in done.err) == (1, True)
    done = desk("effects", "verify", "--against", "heads.json", "--erased-ok")
    assert (done.code, "erased session 'desk/user/first'" in done.out) == (0, True)


def test_verify_compares_with_an_earlier_one(desk: Ostinato, tmp_path: Path) -> None:
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    spans = {"desk/user/first": [1, 1], "desk/user/second": [1, 1]}
    saved = json.loads(Path("heads.json").read_text())
    assert saved == {"rows": 2, "heads": {}, "spans": spans}
    Path("heads.json").write_text('{"desk/user/first": "00"}')
    done = desk("effects", "verify", "--against", "heads.json")
    assert (done.code, "newest row of the earlier" in done.out) == (1, True)
    assert desk("effects", "verify", "--against", "nothing.json").code == 2
    for text in (
        "3",
        "[" * 100_000,
        '{"heads": 3, "spans": 4}',
        '{"heads": {}, "spans": {"a": [1]}}',
        '{"rows": -1, "heads": {}, "spans": {}}',
        '{"a": 1}',
    ):
        Path("heads.json").write_text(text)
        done = desk("effects", "verify", "--against", "heads.json")
        assert (done.code, "was not written by" in done.err) == (2, True)


@pytest.mark.long
@pytest.mark.parametrize("text", ["{}", '{"heads": {}, "spans": {}}', EMPTY.replace("0", "2")])
def test_a_baseline_that_names_nothing_is_refused(desk: Ostinato, text: str) -> None:
    Path("heads.json").write_text(text)
    done = desk("effects", "verify", "--against", "heads.json")
    assert (done.code, "names no session" in done.err) == (2, True)


def test_a_baseline_of_an_empty_ledger_is_compared(desk: Ostinato) -> None:
    Path("heads.json").write_text(EMPTY)
    assert desk("effects", "verify", "--against", "heads.json").code == 0
    desk("effects", "prune", "--older-than", "0s")
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    assert json.loads(Path("heads.json").read_text()) == json.loads(EMPTY)


def test_a_damaged_row_ends_no_command(desk: Ostinato) -> None:
    change_row("data = ?", "[" * 100_000)
    for verb in ("verify",), (), ("--jsonl",):
        done = desk("effects", *verb)
        assert done.code == (1 if verb == ("verify",) else 0)
        assert "cannot be read: '[[[[" in done.out
    change_row("finished = ?, data = cast(data || ? as text)", 2**63 - 1, b"\xff")
    assert "row 1 is damaged" in desk("effects").out
    assert "row 1: is damaged" in desk("effects", "verify").out


def test_a_damaged_mark_is_named(desk: Ostinato) -> None:
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    change_ledger("INSERT INTO ostinato_effect_marks VALUES(1, 'x', 'y', x'00')")
    for options in ((), ("--against", "heads.json")):
        done = desk("effects", "verify", *options)
        assert done.code == 1
        assert "session 'desk/user/first': its mark of pruning is damaged" in done.out


def test_rows_of_no_session_are_counted(desk: Ostinato) -> None:
    change_ledger(
        "INSERT INTO ostinato_effects SELECT 77, n, 5, data, hash FROM ostinato_effects LIMIT 1"
    )
    assert desk("effects", "verify", "--save", "heads.json").code == 1
    done = desk("effects", "verify")
    assert "1 rows and marks of sessions that the store does not hold" in done.out
    assert "session number 77, which the store does not hold: 1 rows and 0 marks" in done.out


def test_a_chained_store_wants_hashes(desk: Ostinato) -> None:
    db = f"sqlite:///{Path('.ostinato/sessions.db').absolute()}?effects=chained"
    done = desk("effects", "verify", "--db", db)
    assert (done.code, "row 1: has no hash, and this store keeps a chain" in done.out) == (1, True)
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    desk("run", "desk", "milk", "--session", "third", "--db", db)
    done = desk("effects", "verify", "--db", db, "--against", "heads.json")
    assert (done.code, "2 rows have no hash" in done.out) == (0, True)


@pytest.mark.parametrize("table", ["ostinato_effects", "ostinato_effect_marks"])
def test_a_ledger_that_is_gone_is_told(desk: Ostinato, table: str) -> None:
    change_ledger(f"DROP TABLE {table}")
    done = desk("effects", "verify")
    assert (done.code, done.err.startswith("error: The effects ledger of")) == (1, True)
    assert f"is gone: The session store 'sessions.db' failed: no such table: {table}" in done.err


def change_ledger(statement: str) -> None:
    """Change the ledger by hand."""
    with closing(sqlite3.connect(".ostinato/sessions.db")) as db:
        db.execute(statement)
        db.commit()


def change_row(change: str, *values: Any) -> None:
    """Change the row of the first session by hand."""
    with closing(sqlite3.connect(".ostinato/sessions.db")) as db:
        db.execute(f"UPDATE ostinato_effects SET {change} WHERE sid = 1", values)
        db.commit()


def test_options_and_files_that_fit_nothing_are_refused(desk: Ostinato) -> None:
    done = desk("effects", "verify", "--save", "nowhere/heads.json")
    assert (done.code, "--save nowhere/heads.json cannot be written" in done.err) == (2, True)
    for verb in ("verify", "prune", "--jsonl"):
        done = desk("effects", verb, "--db", "nofile.db")
        assert (done.code, "nofile.db does not exist" in done.err) == (2, True)
    for wrong in (
        ("verify", "--app", "nosuch"),
        ("verify", "--user", "ann"),
        ("verify", "--jsonl"),
        ("verify", "--older-than", "3d"),
        ("prune", "--app", "desk", "--older-than", "0s"),
        ("prune", "--limit", "1", "--older-than", "0s"),
        ("first", "--save", "heads.json"),
        ("--against", "heads.json"),
    ):
        done = desk("effects", *wrong)
        assert (done.code, "does not apply" in done.err) == (2, True)
    assert "2 effects" in desk("effects", "verify").out


@pytest.mark.long
def test_verify_names_what_was_pruned_since(desk: Ostinato) -> None:
    assert desk("effects", "verify", "--save", "heads.json").code == 0
    assert desk("effects", "prune", "--older-than", "0s").code == 0
    done = desk("effects", "verify", "--against", "heads.json")
    assert (done.code, "session 'desk/user/first': rows 1 to 1" in done.out) == (1, True)
    assert "say --pruned-ok" in done.err
    done = desk("effects", "verify", "--against", "heads.json", "--pruned-ok")
    assert (done.code, "rows 1 to 1" in done.out) == (0, True)


@pytest.mark.long
def test_a_url_chooses_how_the_ledger_is_kept(desk: Ostinato) -> None:
    url = "sqlite:///.ostinato/sessions.db"
    desk("run", "desk", "milk", "--session", "third", "--db", f"{url}?effects=chained")
    desk("run", "desk", "milk", "--session", "fourth", "--db", f"{url}?effects=off")
    done = desk("effects", "verify", "--save", "heads.json")
    assert (done.code, "3 effects of 3 sessions, 1 with a hash" in done.out) == (0, True)
    assert [*json.loads(Path("heads.json").read_text())["heads"]] == ["desk/user/third"]
    assert desk("effects", "verify", "--against", "heads.json").code == 0
    with closing(sqlite3.connect(".ostinato/sessions.db")) as db:
        db.execute("DELETE FROM ostinato_effects WHERE hash IS NOT NULL")
        db.commit()
    done = desk("effects", "verify", "--against", "heads.json")
    assert (done.code, "the newest row of the earlier verification is gone" in done.out) == (
        1,
        True,
    )
    done = desk("effects", "--db", f"{url}?effects=maybe")
    assert (done.code, "on, off or chained" in done.err) == (1, True)


def test_a_server_chooses_too() -> None:
    for choice, chained in (("on", False), ("chained", True)):
        address = parse_store(f"postgresql://ann@127.0.0.1/shop?effects={choice}&ssl=disable")
        store: Any = open_store(address)
        assert store._effect_writer.chained is chained
        assert "effects" not in str(store._target.url)
        assert "ssl=disable" in str(store._target.url)
    assert not open_store(parse_store("mysql://ann@127.0.0.1/shop?effects=off")).keeps_effects


def test_prune(desk: Ostinato) -> None:
    assert desk("effects", "prune").code == 2
    assert "Deleted 0" in desk("effects", "prune", "--older-than", "1d").out
    assert "Deleted 2" in desk("effects", "prune", "--older-than", "0s").out
    assert desk("effects", "prune", "--older-than", "soon").code == 2
    assert desk("effects", "--limit", "0").code == 2


@pytest.mark.long
def test_prove_reports_what_to_mend(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    Path("milk.json").write_text(json.dumps(SCENARIO))
    done = ostinato("prove", "desk", "milk.json", "--fast", "--points", "100")
    assert done.code == 1
    assert "note would have acted twice" in done.out
    assert "tool_context.idempotency_key" in done.out
    Path("milk.json").write_text(json.dumps({**SCENARIO, "repeatable": ["note"]}))
    done = ostinato("prove", "desk", "milk.json", "--fast", "--points", "3", "--json")
    assert (done.code, json.loads(done.out)["ok"]) == (0, True)


def test_prove_refuses_wrong_usage(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    Path("milk.json").write_text('{"steps": []}')
    assert ostinato("prove", "desk", "milk.json").code == 2
    assert ostinato("prove", "desk", "nothing.json").code == 2
    assert ostinato("prove", "desk", "milk.json", "--points", "0").code == 2
    Path("milk.json").write_text('{"steps": ["Hi."], "model": [{"call": "note"}]}')
    done = ostinato("prove", "desk", "milk.json", "--fast")
    assert (done.code, "fails by itself" in done.err) == (2, True)
    assert ostinato("prove", "nowhere", "milk.json").code == 2
