"""`ostinato sessions`: what a file holds, as a list, as a conversation, as JSON and back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import MakeAgent, Ostinato

pytestmark = pytest.mark.long

DESK = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.types import Part

async def note(text: str, tool_context) -> str:
    tool_context.state["user:last"] = text
    tool_context.state["count"] = 1
    await tool_context.save_artifact("note.txt", Part.from_bytes(data=text.encode(),
        mime_type="text/plain"))
    return "noted"

def answer(request):
    last = request.contents[-1].parts[-1]
    return call("note", text=last.text) if last.text else "Noted."

root_agent = Agent(name="desk", model=FunctionModel(answer), tools=[note])
"""


@pytest.fixture
def kept(make_agent: MakeAgent, ostinato: Ostinato) -> Ostinato:
    """The command, in a folder with three sessions."""
    make_agent(DESK)
    make_agent(DESK, "shop")
    ostinato("run", "desk", "milk", "--session", "first", "--state", '{"start": true, "app:a": 1}')
    ostinato("run", "shop", "eggs", "--session", "second", "--user", "ann")
    ostinato("run", "desk", "bread", "--session", "third")
    return ostinato


def test_list_is_newest_first_and_can_be_narrowed(kept: Ostinato) -> None:
    lines = [line.split() for line in kept("sessions", "list").out.splitlines()]
    assert lines[0] == ["SESSION", "APP", "USER", "UPDATED", "EVENTS"]
    assert [(row[0], row[1], row[2], row[-1]) for row in lines[1:]] == [
        ("third", "desk", "user", "4"),
        ("second", "shop", "ann", "4"),
        ("first", "desk", "user", "4"),
    ]
    assert len(kept("sessions", "list", "--app", "desk").out.splitlines()) == 3
    assert len(kept("sessions", "list", "--user", "ann").out.splitlines()) == 2
    assert kept("sessions", "list", "--app", "none").out == "No sessions found.\n"


STUCK = """
import asyncio, sys
from ostinato.sessions.store.durable_store import Claim, Place
from ostinato.sessions.sqlite_session_service import SqliteSessionService

async def main() -> None:
    service = SqliteSessionService(sys.argv[1])
    for app, user, name in (("desk", "user", "first"), ("shop", "ann", "second")):
        session = await service.get_session(app_name=app, user_id=user, session_id=name)
        claim = Claim("me", "p", 30.0, f"inv-{name}", "d")
        fence = await service.append(session, [], claim=claim)
        if app == "desk":
            await service.park(Place(app, user, name), fence, "failed 3 times: KeyError")
    await service.close()

asyncio.run(main())
"""


def test_list_shows_what_is_stuck(kept: Ostinato) -> None:
    assert kept("sessions", "list", "--stuck").out == "No invocation is stuck.\n"
    subprocess.run([sys.executable, "-c", STUCK, ".ostinato/sessions.db"], check=True)
    lines = [
        line.strip().split(maxsplit=5)
        for line in kept("sessions", "list", "--stuck").out.splitlines()
    ]
    assert lines[0] == ["SESSION", "APP", "USER", "INVOCATION", "ATTEMPTS", "REASON"]
    assert [row[:5] for row in lines[1:]] == [["first", "desk", "user", "inv-first", "1"]]
    assert lines[1][5].strip() == "failed 3 times: KeyError"
    none = "No invocation is stuck.\n"
    assert kept("sessions", "list", "--stuck", "--app", "shop").out == none
    assert kept("sessions", "list", "--stuck", "--user", "ann").out == none
    gone = kept("sessions", "list", "--stuck", "--db", "nowhere.db")
    assert gone.code != 0
    assert "nowhere.db does not exist" in gone.err


RESUME = """
import asyncio
from desk.agent import root_agent
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService

async def main() -> None:
    service = SqliteSessionService(".ostinato/sessions.db")
    runner = Runner(app_name="desk", agent=root_agent, session_service=service)
    assert [found.outcome for found in await runner.resume_open()] == ["stuck"]
    await service.close()

asyncio.run(main())
"""

DYING = """
import os
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call

def note(text: str) -> str:
    os._exit(9)

def other() -> str:
    return ""

def answer(request):
    last = request.contents[-1].parts[-1]
    if last.text == "die":
        return call("note", text=last.text)
    seen = [
        "call" if part.function_call else "response" if part.function_response else part.text
        for content in request.contents for part in content.parts
    ]
    return " ".join(seen)

root_agent = Agent(name="desk", model=FunctionModel(answer), tools=[note])
"""


def test_what_died_in_a_tool_and_cannot_go_on_is_listed_until_a_new_message_passes_it_by(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(DYING)
    command = [sys.executable, "-m", "ostinato", "run", "desk", "die", "--session", "first"]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 9
    assert ostinato("sessions", "list", "--stuck").out == "No invocation is stuck.\n"
    make_agent(DYING.replace("tools=[note]", "tools=[note, other]"))
    subprocess.run([sys.executable, "-c", RESUME], check=True, timeout=60)
    (line,) = ostinato("sessions", "list", "--stuck").out.splitlines()[1:]
    assert line.split()[:3] == ["first", "desk", "user"]
    assert line.split()[4] == "2" and "The agents have changed" in line
    done = ostinato("run", "desk", "go on", "--session", "first")
    assert "die call response go on" in done.out, done.err
    assert ostinato("sessions", "list", "--stuck").out == "No invocation is stuck.\n"


def test_show_is_the_conversation(kept: Ostinato) -> None:
    out = kept("sessions", "show", "fir").out
    assert out.startswith("first  app desk, user user, 4 events, updated ")
    for line in (
        "milk",
        '  ● note(text="milk")',
        "    └ noted",
        '    state user:last = "milk"',
        "    saved note.txt (version 0)",
        "  Noted.",
        "  start = true",
    ):
        assert line in out, out


def test_export_and_import_bring_back_the_same(kept: Ostinato) -> None:
    exported = kept("sessions", "export", "first").out
    session = json.loads(exported)
    assert session["appName"] == "desk"
    assert session["events"][1]["content"]["parts"][0]["functionCall"]["name"] == "note"
    Path("first.json").write_text(exported, encoding="utf-8")
    done = kept("sessions", "import", "first.json", "--db", "other/all.db")
    assert done.code == 0, done.err
    assert kept("sessions", "export", "first", "--db", "other/all.db").out == exported
    assert (
        "  Noted." in kept("run", "desk", "more", "--session", "first", "--db", "other/all.db").out
    )


def test_import_refuses_an_id_that_exists_but_takes_another(kept: Ostinato) -> None:
    assert kept("sessions", "export", "first", "first.json").code == 0
    done = kept("sessions", "import", "first.json")
    assert done.code == 1
    assert "--as NEW_ID" in done.err
    done = kept("sessions", "import", "first.json", "--as", "copy")
    assert done.code == 0
    copy = json.loads(kept("sessions", "export", "copy").out)
    assert copy["state"] == {"start": True, "count": 1, "user:last": "bread", "app:a": 1}, (
        "what other sessions share stays as it was"
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"id": "x"}', '{"id":1,"appName":"a","userId":"u"}'])
def test_import_refuses_other_files(ostinato: Ostinato, text: str) -> None:
    Path("x.json").write_text(text, encoding="utf-8")
    done = ostinato("sessions", "import", "x.json")
    assert done.code == 1
    assert "is not a session as `ostinato sessions export` writes it" in done.err
    assert not Path(".ostinato").exists()


@pytest.mark.parametrize(
    ("names", "event"),
    [
        ({"id": "_child:x"}, {}),
        ({"userId": "_child:x"}, {}),
        ({"userId": "a\u3164"}, {}),
        ({}, {"author": "_child:x"}),
        ({}, {"author": "a\u202eb"}),
        ({}, {"timestamp": -1}),
        ({}, {"actions": {"artifactDelta": {"../x": 1}}}),
    ],
    ids=str,
)
def test_import_refuses_names_that_no_client_may_send(
    ostinato: Ostinato, names: dict[str, str], event: dict[str, object]
) -> None:
    events = [{"author": "user", **event}]
    session = {"id": "x", "appName": "desk", "userId": "u", "events": events, **names}
    Path("x.json").write_text(json.dumps(session), encoding="utf-8")
    done = ostinato("sessions", "import", "x.json")
    assert done.code == 1 and "Traceback" not in done.err
    assert not Path(".ostinato").exists()


def test_import_reads_the_standard_input(kept: Ostinato) -> None:
    exported = kept("sessions", "export", "first").out
    done = kept("sessions", "import", "-", "--as", "piped", stdin=exported)
    assert done.code == 0, done.err
    assert "Imported session piped of app desk, user user: 4 events." in done.out


def test_delete_asks_or_needs_yes(kept: Ostinato) -> None:
    assert kept("sessions", "delete", "first").code == 2
    done = kept("sessions", "delete", "first", "--yes")
    assert done.out == "Deleted session first (app desk, user user, 4 events).\n"
    assert "no session 'first'" in kept("sessions", "show", "first").err
    notes = [p for p in Path(".ostinato/artifacts").rglob("*") if p.is_file()]
    assert notes
    kept("sessions", "delete", "second", "--yes")
    kept("sessions", "delete", "third", "--yes")
    assert not [p for p in Path(".ostinato/artifacts").rglob("*note*") if p.is_file()]


def test_the_same_id_twice_needs_more(kept: Ostinato) -> None:
    kept("run", "shop", "x", "--session", "first")
    done = kept("sessions", "show", "first")
    assert done.code == 2
    assert "Add --app or --user" in done.err
    assert kept("sessions", "show", "first", "--app", "shop").code == 0


def test_files_that_hold_no_sessions(ostinato: Ostinato) -> None:
    assert "The first `ostinato run` creates it" in ostinato("sessions", "list").err
    assert "Check --db" in ostinato("sessions", "list", "--db", "none.db").err
    Path("text.db").write_text("hello " * 1000, encoding="utf-8")
    assert "holds no readable sessions" in ostinato("sessions", "list", "--db", "text.db").err
    assert not Path("none.db").exists()


def test_list_imports_neither_the_prompt_nor_the_runtime_of_agents(kept: Ostinato) -> None:
    code = (
        "import sys; from ostinato.cli.main import main; main(['sessions', 'list']); "
        "print([m for m in ('prompt_toolkit', 'ostinato.agents.llm_agent') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
