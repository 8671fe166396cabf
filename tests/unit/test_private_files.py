"""What the stores write on a disk is for the owner of the process alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from ostinato.artifacts import FileArtifactService
from ostinato.hosting.places import make_folder, places_of
from ostinato.memory.sqlite_memory_service import SqliteMemoryService
from ostinato.sessions import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.telemetry.span_store import SqliteSpanStore
from ostinato.types import Part
from ostinato.utils.yaml_utils import dump_pydantic_to_yaml

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A umask under which new files are for everybody, unless their maker says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


def check_private(folder: Path) -> None:
    found = modes(folder)
    assert found
    for name, mode in found.items():
        assert mode == (0o700 if (folder / name).is_dir() else 0o600), name


async def test_sessions_with_log_and_shared_memory(tmp_path: Path) -> None:
    store = SqliteSessionService(str(tmp_path / "sessions.db"))
    await store.create_session(app_name="a", user_id="u")
    assert {"sessions.db", "sessions.db-wal", "sessions.db-shm"} <= set(modes(tmp_path))
    check_private(tmp_path)
    await store.close()


async def test_sessions_of_sqlalchemy(tmp_path: Path) -> None:
    store = DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    await store.create_session(app_name="a", user_id="u")
    check_private(tmp_path)
    await store.close()


async def test_traces(tmp_path: Path) -> None:
    store = SqliteSpanStore(tmp_path / "traces.db")
    await store.forget("a", "u", "s")
    check_private(tmp_path)
    await store.close()


async def test_memories(tmp_path: Path) -> None:
    store = SqliteMemoryService(tmp_path / "memory.db")
    await store.search_memory(app_name="a", user_id="u", query="tea")
    check_private(tmp_path)
    await store.close()


async def test_artifacts(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path / "new" / "artifacts")
    await store.save_artifact(
        app_name="a", user_id="u", session_id="s", filename="x/y.txt", artifact=Part(text="t")
    )
    check_private(tmp_path)


def test_yaml(tmp_path: Path) -> None:
    class Record(BaseModel):
        secret: str

    dump_pydantic_to_yaml(Record(secret="x"), tmp_path / "new" / "a.yaml")
    check_private(tmp_path)


def test_the_folder_of_the_stores(tmp_path: Path) -> None:
    make_folder(places_of(str(tmp_path / ".ostinato" / "sessions.db")))
    assert modes(tmp_path) == {".ostinato": 0o700, ".ostinato/.gitignore": 0o600}


async def test_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    os.close(os.open(tmp_path / "sessions.db", os.O_CREAT, 0o640))
    store = SqliteSessionService(str(tmp_path / "sessions.db"))
    await store.create_session(app_name="a", user_id="u")
    assert modes(tmp_path)["sessions.db"] == 0o640
    await store.close()
