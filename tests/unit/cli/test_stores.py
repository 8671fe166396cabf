"""One `--db` for every command: a file, a URL of a file, a database server, or OSTINATO_DB."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.hosting.stores import store_of
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.store.durable_store import Claim, Place
from tests.support.databases import new_database
from tests.unit.cli.conftest import Done, MakeAgent, Ostinato

pytestmark = pytest.mark.long

DESK = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

root_agent = Agent(name="desk", model=FunctionModel(lambda request: "Noted."))
"""
SECRET = "geheim"


@pytest.fixture(
    params=[
        "file",
        "url",
        pytest.param("postgres", marks=pytest.mark.service),
        pytest.param("mariadb", marks=pytest.mark.service),
    ]
)
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store of each kind, as a person names it."""
    if request.param == "file":
        yield "sessions.db"
    elif request.param == "url":
        yield f"sqlite:///{tmp_path}/sessions.db"
    else:
        with new_database(request.param) as url:
            plain = url.replace("+asyncpg", "").replace("+aiomysql", "")
            with_password = plain.replace("postgres@", f"postgres:{SECRET}@")
            yield with_password


def _park(db: str) -> None:
    async def work() -> None:
        store, _ = store_of(db)
        session = await store.get_session(app_name="desk", user_id="user", session_id="first")
        assert session is not None
        fence = await store.append(session, [], claim=Claim("me", "p", 30.0, "inv-1", "d"))
        assert fence is not None
        await store.park(Place("desk", "user", "first"), fence, "failed 3 times: KeyError")
        await store.close()

    asyncio.run(work())


def test_every_command_works_on_every_store(
    db: str, make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path
) -> None:
    make_agent(DESK)
    outputs: list[str] = []

    def do(*argv: str, code: int = 0) -> Done:
        done = ostinato(*argv, "--db", db)
        outputs.extend((done.out, done.err))
        assert done.code == code, done.err
        return done

    do("run", "desk", "milk", "--session", "first")
    do("run", "desk", "eggs", "--session", "second", "--user", "ann")
    assert [row.split()[0] for row in do("sessions", "list").out.splitlines()[1:]] == [
        "second",
        "first",
    ]
    assert "Noted." in do("sessions", "show", "fir").out
    assert "chat function" in do("trace", "first").out
    do("sessions", "export", "first", "first.json")
    assert len(json.loads((tmp_path / "first.json").read_text())["events"]) == 2
    do("sessions", "import", "first.json", "--as", "third")
    _park(db)
    stuck = do("sessions", "list", "--stuck").out.splitlines()
    assert stuck[1].split()[:4] == ["first", "desk", "user", "inv-1"]
    do("sessions", "delete", "third", "--yes")
    assert "no session 'third'" in do("sessions", "show", "third", code=1).err
    do("worker", "desk", "--once")
    erased = ostinato("erase", "ann", "--app", "desk", "--yes", "--db", db)
    assert "1 sessions" in erased.out
    outputs.extend((erased.out, erased.err))
    assert [row.split()[0] for row in do("sessions", "list").out.splitlines()[1:]] == ["first"]
    assert "answers" in do("doctor").out
    assert SECRET not in "".join(outputs)
    assert not [path for path in tmp_path.iterdir() if ":" in path.name]


def test_the_environment_names_the_store(
    make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_agent(DESK)
    monkeypatch.setenv("OSTINATO_DB", "kept/here.db")
    done = ostinato("run", "desk", "milk", "--session", "first")
    assert "--db" not in done.out
    assert (tmp_path / "kept" / "here.db").is_file()
    assert "first" in ostinato("sessions", "list").out
    assert ostinato("sessions", "list", "--db", "other.db").code == 2


@pytest.fixture(autouse=True)
def fixture_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ostinato web` finds a page, in a checkout where none is built too."""
    monkeypatch.setattr("ostinato.server.page.is_built", lambda: True)


COMMANDS = [
    ("run", "desk", "milk"),
    ("approvals", "desk"),
    ("worker", "desk", "--once"),
    ("serve", ".", "--port", "0"),
    ("web", ".", "--port", "0"),
    ("mcp", "."),
    ("sessions", "list"),
    ("sessions", "list", "--stuck"),
    ("sessions", "show", "x"),
    ("sessions", "export", "x"),
    ("sessions", "import", "x.json"),
    ("sessions", "delete", "x", "--yes"),
    ("trace", "x"),
    ("erase", "ann", "--yes"),
    ("migrate", "--to", "x.db"),
]


def _with_db(command: tuple[str, ...], db: str) -> tuple[str, ...]:
    return *command, "--from" if command[0] == "migrate" else "--db", db


UNREACHABLE = [
    f"postgresql://ann:{SECRET}@127.0.0.1:9/agents",
    f"mysql://ann@127.0.0.1:9/agents?password={SECRET}",
]
WRONG = [
    f"postgresql://ann:{SECRET}@host",
    f"postgresql:ann:{SECRET}@host/agents",
    f"ann:{SECRET}@host/agents",
    f"sqlite://ann:{SECRET}@host/agents.db",
]


@pytest.mark.parametrize(
    ("db", "command"),
    [
        *((db, command) for db in WRONG for command in COMMANDS),
        # An MCP server begins without its database, and waits for it.
        *((db, command) for db in UNREACHABLE for command in COMMANDS if command[0] != "mcp"),
    ],
)
def test_no_command_shows_the_password_of_its_database(
    command: tuple[str, ...],
    db: str,
    make_agent: MakeAgent,
    ostinato: Ostinato,
    tmp_path: Path,
) -> None:
    make_agent(DESK)
    (tmp_path / "x.json").write_text('{"id": "x", "appName": "desk", "userId": "u"}')
    done = ostinato(*_with_db(command, db))
    assert done.code in (1, 2), done.out
    assert done.err and SECRET not in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_wrong_scheme_is_a_clear_error_without_the_password(
    command: tuple[str, ...], make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path
) -> None:
    make_agent(DESK)
    (tmp_path / "x.json").write_text('{"id": "x", "appName": "desk", "userId": "u"}')
    done = ostinato(*_with_db(command, f"oracle://ann:{SECRET}@host/db"))
    assert done.code in (1, 2)
    assert "names 'oracle', which is not a session store: oracle://ann:***@host/db" in done.err
    assert "Traceback" not in done.err and SECRET not in done.out + done.err
    assert not logging.getLogger("ostinato").handlers


@pytest.mark.parametrize("words", [["approvals"], ["run", "Hi"], ["run"]])
def test_a_database_beside_which_nothing_can_be_kept_is_named(
    words: list[str], make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path
) -> None:
    make_agent(DESK)
    (tmp_path / "artifacts").write_text("no folder")
    (tmp_path / "x.db").touch()
    command, *message = words
    done = ostinato(command, "desk", *message, "--db", str(tmp_path / "x.db"))
    assert done.code and f"beside the database {tmp_path / 'x.db'}: " in done.err
    assert "Name another file with --db." in done.err


@pytest.fixture
def adk_file(tmp_path: Path) -> Iterator[str]:
    """A SQLite file with google-adk's tables and one session."""

    async def write() -> None:
        store = DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/adk.db")
        await store.create_session(app_name="desk", user_id="ann", session_id="first")
        await store.close()

    asyncio.run(write())
    yield "adk.db"


DRY_RUN = ("policy", "dry-run", "policy.yaml")


@pytest.mark.parametrize(
    "command", [one for one in (*COMMANDS, DRY_RUN) if one[0] != "migrate"], ids=" ".join
)
def test_every_command_says_how_to_copy_a_file_of_google_adk(
    command: tuple[str, ...],
    adk_file: str,
    make_agent: MakeAgent,
    ostinato: Ostinato,
    tmp_path: Path,
) -> None:
    make_agent(DESK)
    (tmp_path / "x.json").write_text('{"id": "x", "appName": "desk", "userId": "u"}')
    (tmp_path / "policy.yaml").write_text("rules: []\n")
    done = ostinato(*command, "--db", adk_file)
    assert done.code == 1
    assert (
        "error: 'adk.db' was written by DatabaseSessionService or google-adk. Copy it: `ostinato "
        "migrate --from adk.db --to sessions.db`" in done.err
    )


def test_a_file_of_google_adk_is_copied(adk_file: str, ostinato: Ostinato) -> None:
    done = ostinato("doctor", "--db", adk_file)
    assert done.code == 1 and "ostinato migrate --from adk.db" in done.out
    done = ostinato("migrate", "--from", adk_file, "--to", "sessions.db")
    assert (done.code, done.out) == (0, "1 sessions copied.\n")
    assert "first" in ostinato("sessions", "list", "--db", "sessions.db").out


def test_a_server_that_does_not_answer_is_said(ostinato: Ostinato) -> None:
    db = f"postgresql://ann:{SECRET}@127.0.0.1:9/agents"
    done = ostinato("sessions", "list", "--db", db)
    assert (done.code, SECRET in done.err) == (1, False)
    assert "'agents' cannot be reached" in done.err and "--db names its host" in done.err
    assert "cannot be reached" in ostinato("doctor", "--db", db).out


def test_a_long_list_says_that_there_is_more(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    for number in range(3):
        ostinato("run", "desk", "milk", "--session", f"s{number}")
    done = ostinato("sessions", "list", "--limit", "2")
    assert [row.split()[0] for row in done.out.splitlines()[1:]] == ["s2", "s1"]
    assert "there are more" in done.err
    assert ostinato("sessions", "list", "--limit", "3").err == ""
    assert ostinato("sessions", "list", "--limit", "0").code == 2


def test_traces_can_lie_elsewhere_or_nowhere(
    make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path
) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first", "--traces", "kept.db")
    assert "chat function" in ostinato("trace", "first", "--traces", "kept.db").out
    ostinato("run", "desk", "milk", "--session", "second", "--traces", "off")
    assert not (tmp_path / ".ostinato" / "traces.db").exists()
    assert "No spans are kept in .ostinato/traces.db" in ostinato("trace", "second").err
    for wanted in ("nowhere/kept.db", "postgresql://host/db"):
        done = ostinato("run", "desk", "milk", "--traces", wanted)
        assert done.code == 1 and "does not name a file in an existing folder" in done.err


@pytest.mark.service  # a database server
def test_a_file_is_migrated_into_a_database_and_back(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first", "--state", '{"start": 1, "user:u": 2}')
    with new_database("postgres") as url:
        done = ostinato("migrate", "--from", ".ostinato/sessions.db", "--to", url)
        assert (done.code, done.out) == (0, "1 sessions copied.\n")
        done = ostinato("migrate", "--from", url, "--to", "back.db")
        assert (done.code, done.out) == (0, "1 sessions copied.\n")
        again = ostinato("migrate", "--from", url, "--to", "back.db")
        assert again.out == "0 sessions copied; 1 already existed.\n"
    before, after = (
        json.loads(ostinato("sessions", "export", "first", *more).out)
        for more in ((), ("--db", "back.db"))
    )
    assert [e["id"] for e in before["events"]] == [e["id"] for e in after["events"]]
    assert before["state"] == after["state"] == {"start": 1, "user:u": 2}


def test_erasing_asks_first(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first", "--user", "ann")
    asked = ostinato("erase", "ann")
    assert asked.code == 2 and "confirm with --yes" in asked.err
    assert "first" in ostinato("sessions", "list").out
    kept = ostinato("erase", "ann", "--app", "other", "--yes")
    assert "0 sessions" in kept.out
    assert "1 sessions" in ostinato("erase", "ann", "--app", "desk", "--yes").out
    assert ostinato("sessions", "list").out == "No sessions found.\n"
    assert "does not exist" in ostinato("erase", "ann", "--yes", "--db", "none.db").err


def test_serve_ends_if_its_database_server_cannot_be_reached(
    ostinato: Ostinato, make_agent: MakeAgent
) -> None:
    make_agent("from ostinato.agents import Agent\nroot_agent = Agent(name='desk')\n")
    done = ostinato("serve", ".", "--port", "0", "--db", "postgresql://ann:geheim@127.0.0.1:1/x")
    assert done.code == 1
    assert "cannot be reached" in done.err and "geheim" not in done.err + done.out
    assert "Serving on" not in done.out


@pytest.mark.parametrize(
    "command",
    [
        ["approvals", "desk"],
        ["approvals", "desk", "--approve", "c"],
        ["run", "desk", "--session", "s", "--approve", "c"],
        ["run", "desk", "--resume"],
        ["sessions", "list"],
        ["effects", "verify"],
        ["erase", "ann", "--yes"],
        ["trace", "s"],
        ["replay", "desk"],
        ["policy", "dry-run", "policy.yaml"],
    ],
    ids=" ".join,
)
def test_a_command_that_needs_a_store_makes_none(
    make_agent: MakeAgent, ostinato: Ostinato, command: list[str]
) -> None:
    make_agent(DESK)
    Path("policy.yaml").write_text("version: 1\nrules: []\n")
    missing = ostinato(*command, "--db", "typo/s.db")
    assert missing.code == 2 and "typo/s.db does not exist. Check --db." in missing.err
    assert not Path("typo").exists() and not Path("artifacts").exists()
    Path("folder").mkdir()
    folder = ostinato(*command, "--db", "folder")
    assert folder.code == 2 and "folder is a folder. Name a file with --db." in folder.err
    assert [*Path("folder").iterdir()] == []


def test_a_folder_is_named_by_doctor_and_migrate(ostinato: Ostinato) -> None:
    Path("folder").mkdir()
    checked = ostinato("doctor", "--db", "folder")
    assert checked.code == 1 and "folder is a folder" in checked.out
    copied = ostinato("migrate", "--from", "folder", "--to", "new.db")
    assert copied.code == 1 and "folder is a folder. Name a file with --from." in copied.err
    assert not Path("new.db").exists()
