"""Artifacts kept in this process: for tests and for a laptop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from ostinato.artifacts._address import Address, Scope
from ostinato.artifacts._stored_artifacts import StoredArtifactService
from ostinato.artifacts.base_artifact_service import ArtifactVersion, find_mime_type
from ostinato.types import Part

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class _Entry:
    data: Part
    artifact_version: ArtifactVersion


class _ArtifactMemory:
    """Versions of artifacts by scope and name; callers get copies."""

    def __init__(self) -> None:
        self.entries: dict[Scope, dict[str, list[_Entry]]] = {}
        self.lock = threading.Lock()

    def write(self, address: Address, part: Part, custom_metadata: dict[str, Any]) -> int:
        mime_type = find_mime_type(part, address.filename)
        with self.lock:
            entries = self.entries.setdefault(address.scope, {}).setdefault(address.filename, [])
            number = len(entries)
            version = ArtifactVersion(
                version=number,
                canonical_uri=f"memory://{address.path}/versions/{number}",
                custom_metadata=custom_metadata,
                mime_type=mime_type,
            )
            entries.append(_Entry(part, version))
        return number

    def read(self, address: Address, version: int | None) -> Part | None:
        entry = self._find_entry(address, version)
        return entry.data.model_copy(deep=True) if entry else None

    def names(self, scope: Scope) -> list[str]:
        with self.lock:
            return list(self.entries.get(scope, ()))

    def remove(self, address: Address) -> None:
        with self.lock:
            self.entries.get(address.scope, {}).pop(address.filename, None)

    def versions(self, address: Address) -> list[int]:
        return list(range(len(self._find_entries(address))))

    def describe(self, address: Address, version: int | None) -> ArtifactVersion | None:
        entry = self._find_entry(address, version)
        return entry.artifact_version.model_copy(deep=True) if entry else None

    def describe_all(self, address: Address) -> list[ArtifactVersion]:
        entries = self._find_entries(address)
        return [entry.artifact_version.model_copy(deep=True) for entry in entries]

    def _find_entries(self, address: Address) -> list[_Entry]:
        with self.lock:
            return list(self.entries.get(address.scope, {}).get(address.filename, ()))

    def _find_entry(self, address: Address, version: int | None) -> _Entry | None:
        entries = self._find_entries(address)
        number = len(entries) - 1 if version is None else version
        return entries[number] if 0 <= number < len(entries) else None


class InMemoryArtifactService(StoredArtifactService):
    """Keeps copies of what is saved, until the process ends; may be used from several threads."""

    def __init__(self) -> None:
        self._memory = self._store = _ArtifactMemory()

    async def _run_work(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return work(*args, **kwargs)  # it never waits

    @property
    def artifacts(self) -> dict[str, list[_Entry]]:
        """What is stored, by path, to look at in tests: the versions of each, oldest first.

        A path is `app/user/session/name`, or `app/user/user/name` for artifacts of the user. A
        version has its content as `data`, and `artifact_version`. Changes to the dict are not kept.
        """
        with self._memory.lock:
            return {
                f"{app_name}/{user_id}/{session_id or 'user'}/{filename}": list(entries)
                for (app_name, user_id, session_id), names in self._memory.entries.items()
                for filename, entries in names.items()
            }

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Remove all artifacts of a user.

        Args:
            app_name: the app; None for all apps.
            user_id: the user.

        Returns:
            How many there were.
        """
        with self._memory.lock:
            gone = [
                scope
                for scope in self._memory.entries
                if scope[1] == user_id and app_name in (None, scope[0])
            ]
            return sum(len(self._memory.entries.pop(scope)) for scope in gone)
