"""Databases of google-adk 1: read, refused for writing, copied by `ostinato migrate`."""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli import main as cli
from ostinato.errors import StoreError
from ostinato.sessions.adk_format.adk_v0 import read_pickle
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.session import Session, log_of
from ostinato.sessions.store.durable_store import Fence
from tests.unit.sessions.talk import OWNER, PLACE, claim, said

DUMP = Path(__file__).parents[2] / "adk_database" / "adk_v0.sql"
KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
STATE = {"b": {"t": [1]}, "deep": {"x": [None, 1.5]}, "user:u": 2, "user:v": 1} | {
    "app:p": 3,
    "app:q": "x",
}


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A database as google-adk 1.18.0 made it."""
    db = sqlite3.connect(tmp_path / "old.db")
    db.executescript(DUMP.read_text(encoding="utf-8"))
    db.close()
    return f"sqlite+aiosqlite:///{tmp_path / 'old.db'}"


async def loaded(service: DatabaseSessionService, **how: Any) -> Session:
    session = await service.get_session(**KEY, **how)
    assert session is not None
    return session


def assert_all_there(session: Session) -> None:
    """Check against what `record_v0.py` put in."""
    assert session.state == STATE
    hello, call, answer, compaction, failure = session.events
    assert [e.author for e in session.events] == ["user", "bot", "bot", "user", "bot"]
    assert hello.content and hello.content.parts and hello.content.parts[0].text == "hé\u2028😀"
    assert hello.actions.state_delta == {"b": {"t": [1]}, "a": None, "user:v": 1, "app:q": "x"}
    assert call.branch == "a.b" and call.long_running_tool_ids == {"c1"}
    assert call.custom_metadata == {"k": None}
    assert call.usage_metadata and call.usage_metadata.prompt_token_count == 3
    made = call.get_function_calls()[0]
    assert (made.id, made.name, made.args) == ("c1", "add", {"a_b": 1})
    assert call.content and call.content.parts and call.content.parts[1].inline_data
    assert call.content.parts[1].inline_data.data == b"\x00\xff\xfe"
    assert call.actions.artifact_delta == {"file.txt": 1}
    assert call.actions.transfer_to_agent == "other"
    assert call.actions.requested_tool_confirmations["c1"].hint == "sure?"
    asked = call.actions.requested_auth_configs["c1"].model_dump(mode="json", by_alias=True)
    assert asked["authScheme"]["name"] == "X-Key" and asked["authScheme"]["in"] == "header"
    assert asked["rawAuthCredential"]["authType"] == "apiKey"
    assert answer.get_function_responses()[0].response == {"r": 1}
    found = compaction.actions.compaction
    assert found and (found.start_timestamp, found.end_timestamp) == (1.0, 2.5)
    assert found.compacted_content.parts and found.compacted_content.parts[0].text == "summary"
    assert (failure.error_code, failure.error_message) == ("OOPS", "it failed")
    times = [e.timestamp for e in session.events]
    assert times == sorted(set(times))


@pytest.mark.spec(193)
async def test_an_old_database_is_read(old: str) -> None:
    service = DatabaseSessionService(old)
    session = await loaded(service)
    assert_all_there(session)
    part = await loaded(service, config=GetSessionConfig(num_recent_events=2))
    assert [e.id for e in part.events] == [e.id for e in session.events[3:]]
    assert log_of(part).offset == 3
    everyone = (await service.list_sessions(app_name="app")).sessions
    assert {s.id: s.state for s in everyone} == {
        "s1": STATE,
        "s2": {"c": 1, "app:p": 3, "app:q": "x"},
    }
    assert [s.id for s in (await service.list_sessions(**OWNER)).sessions] == ["s1"]
    assert await service.get_user_state(**OWNER) == {"u": 2, "v": 1}
    assert await service.get_session(**OWNER, session_id="nobody") is None
    assert await service.initial_state(session) == {"deep": STATE["deep"]}
    await service.close()


async def test_an_old_database_is_never_written(old: str, tmp_path: Path) -> None:
    before = (tmp_path / "old.db").read_bytes()
    service = DatabaseSessionService(old)
    session = await loaded(service)
    writes = [
        lambda: service.append_event(session, said("x")),
        lambda: service.append(session, [], claim=claim()),
        lambda: service.create_session(**OWNER),
        lambda: service.delete_session(**KEY),
        lambda: service.delete_user("app", "ann"),
        lambda: service.fork_session(**KEY),
        lambda: service.release(PLACE, Fence("me", 1)),
        lambda: service.lease(PLACE),
    ]
    for write in writes:
        with pytest.raises(StoreError, match=r"'old\.db' .* ostinato migrate --from"):
            await write()
    await service.close()
    assert_same_rows(before, (tmp_path / "old.db").read_bytes())


def assert_same_rows(before: bytes, after: bytes) -> None:
    dumps: list[list[str]] = []
    for image in (before, after):
        db = sqlite3.connect(":memory:")
        db.deserialize(image[:18] + b"\1\1" + image[20:])  # not in WAL mode
        dumps.append(list(db.iterdump()))
        db.close()
    assert dumps[0] == dumps[1]


@pytest.mark.spec(193)
def test_migrate_copies_an_old_database(
    old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = f"sqlite+aiosqlite:///{tmp_path / 'new.db'}"
    newer = f"sqlite+aiosqlite:///{tmp_path / 'newer.db'}"
    for source, target in ((old, new), (new, newer)):
        assert cli.main(["migrate", "--from", source, "--to", target]) == 0
        assert "2 sessions copied." in capsys.readouterr().out
    assert cli.main(["migrate", "--from", old, "--to", new]) == 0
    assert "0 sessions copied; 2 already existed." in capsys.readouterr().out

    async def check(url: str) -> None:
        service = DatabaseSessionService(url)
        session = await loaded(service)
        assert_all_there(session)
        assert await service.initial_state(session) == {"deep": STATE["deep"]}
        first = await DatabaseSessionService(old).get_session(**KEY)
        assert first is not None and [e.id for e in first.events] == [e.id for e in session.events]
        await service.append_event(session, said("goes on", {"b": None}))
        assert len((await loaded(service)).events) == 6
        await service.close()

    for url in (new, newer):
        asyncio.run(check(url))


def test_migrate_says_what_is_wrong(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["migrate", "--from", old, "--to", old]) == 2
    assert "the same store" in capsys.readouterr().err
    assert cli.main(["migrate", "--from", "nonsense", "--to", old]) == 1
    assert "There is no file nonsense to copy from." in capsys.readouterr().err


class Harmful:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("harm",))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Harmful()),
        pickle.dumps({"state_delta": {"k": Harmful()}}),
        pickle.dumps(io.StringIO),
        b"cos\nsystem\n(S'echo harm'\ntR.",
        b"cgoogle.adk.x\nY\n(S'x'\ntRcbuiltins\neval\n.",
        b"not a pickle",
        b"",
    ],
)
def test_pickles_that_are_not_read(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError):
        read_pickle(data)
    assert list(tmp_path.iterdir()) == []
