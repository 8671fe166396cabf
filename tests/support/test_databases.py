"""Where the databases of the tests come from."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from ostinato.errors import StoreError
from ostinato.events.event import Event
from ostinato.sessions.database_session_service import DatabaseSessionService
from tests.support import databases, throwaway_postgres
from tests.support.databases import SERVERS, execute, new_database, server_url
from tests.support.throwaway_postgres import postgres_binaries

KEY: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
SILENT = {
    "postgres": "postgresql+asyncpg://postgres@127.0.0.1:1/test",
    "mariadb": "mysql+aiomysql://root@127.0.0.1:1/test",
}


@pytest.fixture(params=SERVERS)
def silent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server whose URL leads nowhere, and of which nothing is remembered."""
    monkeypatch.setattr(databases, "_answering", inspect.unwrap(databases._answering))
    monkeypatch.setitem(SERVERS, request.param, SILENT[request.param])
    return request.param


def test_a_test_says_that_no_server_answers(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throwaway_postgres, "postgres_binaries", lambda: None)
    with pytest.raises(pytest.skip.Exception, match=f"no {silent} answers: .*127.0.0.1"):
        server_url(silent)


@pytest.mark.service
def test_a_server_that_refuses_is_no_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = make_url(server_url("mariadb")).set(username="nobody", password="x")
    monkeypatch.setitem(SERVERS, "mariadb", nobody.render_as_string(hide_password=False))
    with pytest.raises(OperationalError, match="Access denied"):
        server_url("mariadb")


def test_the_newest_installed_binaries_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert postgres_binaries(tmp_path) is None
    for version in ("9.6", "15", "16"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        for name in ("initdb", "pg_ctl", "postgres"):
            (folder / name).touch(0o755)
    assert postgres_binaries(tmp_path) == tmp_path / "16" / "bin"
    (tmp_path / "16" / "bin" / "initdb").unlink()  # a client without its server
    assert postgres_binaries(tmp_path) == tmp_path / "15" / "bin"


@pytest.mark.service
async def test_a_throwaway_postgres() -> None:
    binaries = postgres_binaries()
    assert binaries is not None, "install PostgreSQL's server, such as Debian's postgresql-15"
    with throwaway_postgres.throwaway_postgres(binaries) as url:
        [(folder,)] = execute(url, "SHOW data_directory")
        service = DatabaseSessionService(url)
        session = await service.create_session(**KEY)
        await service.append_event(session, Event(author="user", id="e1"))
        await service.close()
        again = DatabaseSessionService(url)
        found = await again.get_session(**KEY)
        assert found is not None and [event.id for event in found.events] == ["e1"]
        await again.close()
    assert not Path(folder).parent.exists()
    gone = DatabaseSessionService(url)
    with pytest.raises(StoreError, match="cannot be reached"):
        await gone.get_session(**KEY)
    await gone.close()


@pytest.mark.service
@pytest.mark.parametrize("silent", ["postgres"], indirect=True)
async def test_a_test_gets_a_throwaway_postgres_where_none_answers(silent: str) -> None:
    urls: list[str] = []
    for _ in range(2):
        with new_database(silent) as url:
            service = DatabaseSessionService(url)
            session = await service.create_session(**KEY)
            await service.append_event(session, Event(author="user"))
            assert execute(url, "SELECT count(*) FROM events") == [(1,)]
            await service.close()
        urls.append(url)
    first, second = map(make_url, urls)
    assert first.port == second.port != 1  # started once
    assert first.database != second.database
