"""Services: where a server keeps sessions, files and memories, from what its settings say."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from ..artifacts.base_artifact_service import BaseArtifactService
from ..artifacts.file_artifact_service import FileArtifactService
from ..artifacts.gcs_artifact_service import GcsArtifactService
from ..artifacts.in_memory_artifact_service import InMemoryArtifactService
from ..hosting.places import DEFAULT_DB, Places, make_folder, places_of
from ..hosting.services import AGENT_ENGINE, engine_of, store_of
from ..memory.base_memory_service import BaseMemoryService
from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..memory.sqlite_memory_service import SqliteMemoryService
from ..memory.vertex_ai_memory_bank_service import VertexAiMemoryBankService
from ..sessions.base_session_service import BaseSessionService
from ..sessions.in_memory_session_service import InMemorySessionService
from ..sessions.vertex_ai_session_service import VertexAiSessionService
from ..telemetry.span_store import SqliteSpanStore
from .settings import MEMORY, ServerSettings

_FILE = "file://"
_IN_MEMORY = ":memory:"
_GCS = "gs://"


@runtime_checkable
class _Closes(Protocol):
    def close(self) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What runners keep things in.

    Attributes:
      sessions, artifacts, memories: the services.
      spans: what took how long on this machine.
    """

    sessions: BaseSessionService
    artifacts: BaseArtifactService
    memories: BaseMemoryService
    spans: SqliteSpanStore

    @classmethod
    def of(cls, settings: ServerSettings) -> Services:
        """Return the services that settings name.

        Raises:
          SetupError: a folder cannot be made.
          InputValidationError: a URL names no database.
          MissingExtraError: what a URL needs is not installed.
        """
        in_memory = settings.db.startswith(MEMORY)
        if in_memory:
            sessions: BaseSessionService = InMemorySessionService()
            places = None
        elif settings.db.startswith(AGENT_ENGINE):
            sessions = VertexAiSessionService(**engine_of(settings.db))
            places = places_of(DEFAULT_DB)
            make_folder(places)
        else:
            sessions, places = store_of(settings.db)
        spans = SqliteSpanStore(
            _IN_MEMORY if places is None else places.traces, wants_content=settings.contents
        )
        return cls(sessions, _artifacts(settings, places), _memories(settings, places), spans)

    async def close(self) -> None:
        """Close what can be closed."""
        for one in (self.memories, self.artifacts, self.sessions, self.spans):
            if isinstance(one, _Closes):
                await one.close()


def _artifacts(settings: ServerSettings, places: Places | None) -> BaseArtifactService:
    wanted = settings.artifacts
    if wanted is None:
        return (
            InMemoryArtifactService() if places is None else FileArtifactService(places.artifacts)
        )
    if wanted.startswith(MEMORY):
        return InMemoryArtifactService()
    if wanted.startswith(_GCS):
        return cast(BaseArtifactService, GcsArtifactService(wanted.removeprefix(_GCS).strip("/")))
    return FileArtifactService(Path(wanted.removeprefix(_FILE)))


def _memories(settings: ServerSettings, places: Places | None) -> BaseMemoryService:
    wanted = settings.memory
    if wanted is None and places is not None:
        default = places_of(DEFAULT_DB).db if "://" in settings.db else places.db
        return SqliteMemoryService(default.with_name("memories.db"))
    if wanted is None or wanted.startswith(MEMORY):
        return InMemoryMemoryService()
    if wanted.startswith(AGENT_ENGINE):
        return VertexAiMemoryBankService(**engine_of(wanted))
    return SqliteMemoryService(wanted.removeprefix("sqlite:///"))
