"""Artifacts kept in this process: for tests and for a laptop."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ostinato.artifacts._address import Address, Scope, locate, scope_of
from ostinato.artifacts._reference import find_target, load_resolved
from ostinato.artifacts.artifact_util import is_artifact_ref
from ostinato.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    copy_metadata,
    ensure_part,
    find_mime_type,
)
from ostinato.types import Part


@dataclass(frozen=True, slots=True)
class _Entry:
    part: Part
    version: ArtifactVersion


class InMemoryArtifactService(BaseArtifactService):
    """Keeps copies of what is saved, until the process ends; may be used from several threads."""

    def __init__(self) -> None:
        self._entries: dict[Scope, dict[str, list[_Entry]]] = {}
        self._lock = threading.Lock()

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Store a new version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        part = ensure_part(artifact).model_copy(deep=True)
        mime_type = find_mime_type(part, filename)
        metadata = copy_metadata(custom_metadata, filename)
        if is_artifact_ref(part):
            find_target(part, address)
        with self._lock:
            entries = self._entries.setdefault(address.scope, {}).setdefault(filename, [])
            number = len(entries)
            version = ArtifactVersion(
                version=number,
                canonical_uri=f"memory://{address.path}/versions/{number}",
                custom_metadata=metadata,
                mime_type=mime_type,
            )
            entries.append(_Entry(part, version))
        return number

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A copy of one version's content; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await load_resolved(self._read, address, version)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """The names in session and user scope, sorted; see `BaseArtifactService`."""
        scope = scope_of(app_name, user_id, session_id)
        with self._lock:
            scopes = {scope, (app_name, user_id, None)}
            return sorted(name for key in scopes for name in self._entries.get(key, ()))

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        with self._lock:
            self._entries.get(address.scope, {}).pop(filename, None)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The numbers of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return list(range(len(self._versions(address))))

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """What is known about all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return [entry.version.model_copy(deep=True) for entry in self._versions(address)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """What is known about one version; see `BaseArtifactService`."""
        entry = self._find(locate(app_name, user_id, session_id, filename), version)
        return entry.version.model_copy(deep=True) if entry else None

    def _versions(self, address: Address) -> list[_Entry]:
        with self._lock:
            return list(self._entries.get(address.scope, {}).get(address.filename, ()))

    def _find(self, address: Address, version: int | None) -> _Entry | None:
        entries = self._versions(address)
        number = len(entries) - 1 if version is None else version
        return entries[number] if 0 <= number < len(entries) else None

    async def _read(self, address: Address, version: int | None) -> Part | None:
        entry = self._find(address, version)
        return entry.part.model_copy(deep=True) if entry else None
