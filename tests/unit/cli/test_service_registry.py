"""ServiceRegistry: services by URI scheme, and those that an agents folder registers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.artifacts.file_artifact_service import FileArtifactService
from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.cli.service_registry import (
    ServiceRegistry,
    get_service_registry,
    load_services_module,
)
from ostinato.memory.in_memory_memory_service import InMemoryMemoryService
from ostinato.server.server_services import Services
from ostinato.server.settings import ServerSettings
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService


class Kept(InMemorySessionService):
    """A service that a YAML file names."""

    def __init__(self, uri: str, **more: Any) -> None:
        super().__init__()
        self.given = (uri, more)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceRegistry]:
    """A registry of this test's own."""
    path = list(sys.path)
    get_service_registry.cache_clear()
    monkeypatch.setitem(sys.modules, "kept_services", sys.modules[__name__])
    yield get_service_registry()
    sys.path[:] = path
    get_service_registry.cache_clear()


def test_built_in_schemes_make_our_services(registry: ServiceRegistry, tmp_path: Path) -> None:
    assert registry is get_service_registry()
    found = registry.create_session_service(f"sqlite:///{tmp_path}/s.db", agents_dir=str(tmp_path))
    assert isinstance(found, SqliteSessionService)
    assert isinstance(registry.create_session_service("memory://"), InMemorySessionService)
    assert isinstance(registry.create_memory_service("memory://"), InMemoryMemoryService)
    assert isinstance(registry.create_artifact_service("memory://"), InMemoryArtifactService)
    files = registry.create_artifact_service(f"file://{tmp_path}")
    assert isinstance(files, FileArtifactService)
    server = registry.create_session_service("postgresql://u:p@127.0.0.1/d", pool_size=3)
    assert isinstance(server, DatabaseSessionService)


def test_an_unknown_scheme_makes_nothing_and_a_wrong_uri_is_refused(
    registry: ServiceRegistry,
) -> None:
    assert registry.create_session_service("nope://x") is None
    assert registry.create_artifact_service("nope://x") is None
    assert registry.create_memory_service("x") is None
    with pytest.raises(ValueError, match="names no database") as caught:
        registry.create_session_service("postgresql://u:secret@h")
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="takes no options \\(pool_size\\)"):
        registry.create_session_service("memory://", pool_size=3)
    with pytest.raises(ValueError, match="register a factory with register_memory_service"):
        registry.create_memory_service("memory://", size=3)


def test_a_registered_factory_gets_the_uri_and_comes_before_a_built_in_one(
    registry: ServiceRegistry,
) -> None:
    registry.register_session_service("sqlite", Kept)
    registry.register_artifact_service("own", lambda uri, **more: (uri, more))
    registry.register_memory_service("own", lambda uri, **more: (uri, more))
    found = registry.create_session_service("sqlite:///x", agents_dir="a", pool=3)
    assert isinstance(found, Kept) and found.given == (
        "sqlite:///x",
        {"agents_dir": "a", "pool": 3},
    )
    assert registry.create_artifact_service("own://a", k=1) == ("own://a", {"k": 1})
    assert registry.create_memory_service("OWN://a") == ("OWN://a", {})


def test_a_folder_registers_its_own_once_and_its_module_overrides_its_yaml(
    registry: ServiceRegistry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "services.yaml").write_text(
        "services:\n"
        "  - {scheme: one, type: session, class: kept_services.Kept}\n"
        "  - {scheme: two, type: session, class: kept_services.Kept}\n"
        "  - {scheme: bad, type: nothing, class: kept_services.Kept}\n"
        "  - {scheme: gone, type: memory, class: kept_services.Gone}\n"
        "  - {scheme: three, type: memory, class: kept_services.Kept}\n"
    )
    (tmp_path / "services.py").write_text(
        "from ostinato.cli.service_registry import get_service_registry\n"
        "get_service_registry().register_session_service('two', lambda uri, **more: uri)\n"
        "raise RuntimeError('postgresql://u:secret@h/d is away')\n"
    )
    load_services_module(str(tmp_path))
    one: Any = registry.create_session_service("one://a", agents_dir="x")
    assert one.given == ("one://a", {"agents_dir": "x"})
    assert registry.create_session_service("two://a") == "two://a"
    assert registry.is_registered("memory", "three://")
    assert not registry.is_registered("session", "bad://")
    assert "`type` (session, artifact or memory)" in caplog.text
    assert "class kept_services.Gone cannot be imported" in caplog.text
    assert "services.py cannot be registered: RuntimeError" in caplog.text
    assert "secret" not in caplog.text
    registry.register_session_service("one", lambda uri, **more: "later")
    load_services_module(tmp_path)
    assert registry.create_session_service("one://a") == "later"
    load_services_module(tmp_path / "nowhere")


def test_a_server_takes_its_services_from_the_folder(
    registry: ServiceRegistry, tmp_path: Path
) -> None:
    registry.register_session_service("own", Kept)
    settings = ServerSettings(
        agents=tmp_path, db="own://s", db_options={"k": 1}, artifacts="memory://",
        memory="memory://", traces="off",
    )  # fmt: skip
    sessions = Services.from_settings(settings).sessions
    assert isinstance(sessions, Kept)
    assert sessions.given == ("own://s", {"agents_dir": str(tmp_path), "k": 1})
