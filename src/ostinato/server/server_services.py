"""Services: the session, artifact and memory services and the span store of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..artifacts.base_artifact_service import BaseArtifactService
from ..cli.service_registry import Kind, get_service_registry
from ..hosting.places import DEFAULT_DB, Places, make_folder, places_of, traces_file
from ..hosting.store_address import parse_store
from ..hosting.stores import SERVED_KINDS, open_artifacts, open_memories, open_sessions
from ..memory.base_memory_service import BaseMemoryService
from ..sessions.base_session_service import BaseSessionService
from ..telemetry.span_store import SqliteSpanStore
from .settings import ServerSettings

_IN_MEMORY = ":memory:"


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The services of a server.

    Attributes:
      sessions, artifacts, memories: the services of the runners.
      spans: the span store, or None if spans are not recorded.
    """

    sessions: BaseSessionService
    artifacts: BaseArtifactService
    memories: BaseMemoryService
    spans: SqliteSpanStore | None

    @classmethod
    def from_settings(cls, settings: ServerSettings) -> Services:
        """Return the services that settings name.

        Raises:
          SetupError: a folder cannot be created, or a URL is not a store's.
          MissingExtraError: an extra that a URL needs is not installed.
        """
        places = _find_places(settings)
        sessions, artifacts, memories = (
            _make_registered(settings, "session", settings.db, settings.db_options)
            or open_sessions(settings.db, settings.db_options),
            _make_registered(settings, "artifact", settings.artifacts)
            or open_artifacts(settings.artifacts, places),
            _make_registered(settings, "memory", settings.memory)
            or open_memories(settings.memory, places),
        )
        return cls(sessions, artifacts, memories, _open_spans(settings, places))

    async def close(self) -> None:
        """Close the services that have a `close` method."""
        for one in (self.memories, self.artifacts, self.sessions, self.spans):
            if isinstance(one, _Closable):
                await one.close()


def is_registered(kind: Kind, uri: str | None) -> bool:
    """Return whether the agents folder registered a service for the URI's scheme."""
    return uri is not None and get_service_registry().is_registered(kind, uri)


def _make_registered(
    settings: ServerSettings, kind: Kind, uri: str | None, options: Mapping[str, Any] | None = None
) -> Any:
    """Return the service of a registered scheme, or None if the scheme is not registered."""
    if uri is None or not is_registered(kind, uri):
        return None
    registry = get_service_registry()
    create = {
        "session": registry.create_session_service,
        "artifact": registry.create_artifact_service,
        "memory": registry.create_memory_service,
    }[kind]
    return create(uri, agents_dir=str(settings.agents), **(options or {}))


def _find_places(settings: ServerSettings) -> Places | None:
    """Return the files beside the sessions, or None if the sessions are in memory.

    Make their folder if a service uses it.
    """
    if is_registered("session", settings.db):
        kind, places = "server", places_of(DEFAULT_DB)
    else:
        address = parse_store(settings.db, kinds=SERVED_KINDS)
        kind, places = address.kind, address.find_places()
    if kind == "memory":
        return None
    if kind == "file" or None in (settings.artifacts, settings.memory, settings.traces):
        make_folder(places)
    return places


def _open_spans(settings: ServerSettings, places: Places | None) -> SqliteSpanStore | None:
    if places is None and settings.traces is None:
        return SqliteSpanStore(_IN_MEMORY, wants_content=settings.contents)
    file = traces_file(settings.traces, places or places_of(DEFAULT_DB))
    return None if file is None else SqliteSpanStore(file, wants_content=settings.contents)
