"""`ostinato worker`: what it runs, and what it says where it cannot. Crews are in tests/workers."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.hosting.command_runners import store_of
from ostinato.runners import Runner
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.unit.cli.conftest import MakeAgent, Ostinato

AGENT = """
from ostinato import Agent
from ostinato.testing import FunctionModel, ScriptedModel

root_agent = Agent(name="desk", model=ScriptedModel(["One.", "Two."]))
"""


@pytest.fixture
def desk(make_agent: MakeAgent) -> str:
    return str(make_agent(AGENT))


def submit(db: str, *texts: str) -> None:
    """Submit messages as a program does that shares the store."""

    async def work() -> None:
        service, _ = store_of(db)
        agent = LlmAgent(name="any", model="offline")
        runner = Runner(
            agent=agent, app_name="desk", session_service=service, auto_create_session=True
        )
        for text in texts:
            await runner.submit(user_id="ann", session_id="s", new_message=text)
        await service.close()

    asyncio.run(work())


def said(db: str) -> list[str]:
    async def work() -> Any:
        service, _ = store_of(db)
        session = await service.get_session(app_name="desk", user_id="ann", session_id="s")
        await service.close()
        return session

    return [event.content.parts[0].text for event in asyncio.run(work()).events]


@pytest.mark.parametrize("db", ["sessions.db", "sqlite:///sessions.db"])
def test_it_runs_what_was_submitted_and_ends(ostinato: Ostinato, desk: str, db: str) -> None:
    submit(db, "first", "second")
    done = ostinato("worker", desk, "--db", db, "--once")
    assert done.code == 0
    assert said(db) == ["first", "One.", "second", "Two."]
    assert (done.out, done.err.count(" started "), done.err.count(" finished ")) == ("", 2, 2)
    assert re.search(r"in session s, \d+\.\d{3} s", done.err) and "working for desk" in done.err
    assert not logging.getLogger("ostinato").handlers


def test_its_exit_code_tells_of_an_invocation_that_failed(
    ostinato: Ostinato, make_agent: MakeAgent
) -> None:
    failing = str(make_agent(AGENT.replace('"One."', 'ValueError("no luck")')))
    submit("sessions.db", "first", "second")
    done = ostinato("worker", failing, "--db", "sessions.db", "--once")
    assert (done.code, done.err.count(" failed "), done.err.count(" finished ")) == (1, 1, 1)
    assert ostinato("worker", failing, "--db", "sessions.db", "--once").code == 0


def test_it_ends_where_there_is_nothing(ostinato: Ostinato, desk: str) -> None:
    done = ostinato("worker", desk, "--once")
    assert (done.code, " started " in done.err) == (0, False)
    assert Path(".ostinato/sessions.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--concurrency", "0"], 2, "--concurrency has to be more than 0, not 0"),
        (["--concurrency", "many"], 2, "invalid int value"),
        (["--lease", "0"], 2, "--lease has to be more than 0"),
        (["--lease", "nan"], 2, "--lease has to be more than 0"),
        (["--grace", "-1"], 2, "--grace has to be 0 or more"),
        (["--engine", "other"], 2, "invalid choice"),
        (["--engine", "dbos"], 1, "needs sessions in PostgreSQL"),
        (["--db", ":memory:"], 1, "SqliteSessionService on a file"),
        (["--db", "oracle://host/db"], 1, "names 'oracle', which is not a session store"),
        (["--db", "postgresql+asyncpg://u:secret@127.0.0.1:1/db", "--once"], 1, "StoreError"),
    ],
)
def test_what_it_refuses(
    ostinato: Ostinato, desk: str, arguments: list[str], code: int, told: str
) -> None:
    done = ostinato("worker", desk, *arguments)
    assert done.code == code
    assert told in done.err
    assert "secret" not in done.err and "Traceback" not in done.err


def test_a_model_that_is_not_there_ends_it_before_it_takes_anything(
    ostinato: Ostinato, make_agent: MakeAgent
) -> None:
    text = AGENT.replace('ScriptedModel(["One.", "Two."])', '"no-such-model"')
    submit("sessions.db", "first")
    done = ostinato("worker", str(make_agent(text)), "--db", "sessions.db", "--once")
    assert done.code == 1 and "ModelUnavailableError" in done.err and "no-such-model" in done.err


def test_the_url_decides_which_store_it_is(tmp_path: Path) -> None:
    for db in ("a.db", "sqlite:///a.db", "sqlite+aiosqlite:///a.db"):
        service, places = store_of(db)
        assert type(service) is SqliteSessionService and places.db == Path("a.db")
    for db in ("postgresql+asyncpg://u@h/d", "mysql+aiomysql://u@h/d"):
        assert type(store_of(db)[0]) is DatabaseSessionService
