"""The base of Ostinato's artifact services: addresses, references and threads in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, Protocol, TypeVar

from ostinato.artifacts._address import Address, Scope, locate, scope_of
from ostinato.artifacts._reference import find_target, load_resolved
from ostinato.artifacts.artifact_util import is_artifact_ref
from ostinato.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    copy_metadata,
    ensure_part,
)
from ostinato.types import Part

_P = ParamSpec("_P")
_R = TypeVar("_R")


class ArtifactStore(Protocol):
    """Where versions of artifacts are kept; a version of None is the latest."""

    def write(self, address: Address, part: Part, custom_metadata: dict[str, Any], /) -> int:
        """Store a new version and return its number."""
        ...

    def read(self, address: Address, version: int | None, /) -> Part | None:
        """Return the content of a version, or None if it does not exist."""
        ...

    def names(self, scope: Scope, /) -> Iterable[str]:
        """Return the names of all artifacts of one scope, in any order."""
        ...

    def remove(self, address: Address, /) -> None:
        """Remove all versions, if there are any."""
        ...

    def versions(self, address: Address, /) -> list[int]:
        """Return the numbers of all versions, rising."""
        ...

    def describe(self, address: Address, version: int | None, /) -> ArtifactVersion | None:
        """Return the description of a version, or None if it does not exist."""
        ...

    def describe_all(self, address: Address, /) -> list[ArtifactVersion]:
        """Return the descriptions of all versions, rising."""
        ...


class StoredArtifactService(BaseArtifactService):
    """Artifact service over an `ArtifactStore`; all work of the store runs in threads."""

    _store: ArtifactStore

    async def _run_work(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(work, *args, **kwargs)

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
        if is_artifact_ref(part):
            find_target(part, address)
        metadata = copy_metadata(custom_metadata, filename)
        return await self._run_work(self._store.write, address, part, metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """Return the content of one version; see `BaseArtifactService`."""

        async def read(address: Address, version: int | None) -> Part | None:
            return await self._run_work(self._store.read, address, version)

        return await load_resolved(read, locate(app_name, user_id, session_id, filename), version)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Return the names in session and user scope, sorted; see `BaseArtifactService`."""
        scopes = {scope_of(app_name, user_id, session_id), (app_name, user_id, None)}

        def names() -> list[str]:
            return sorted(name for scope in scopes for name in self._store.names(scope))

        return await self._run_work(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        await self._run_work(self._store.remove, address)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.versions, address)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return the descriptions of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.describe_all, address)

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return the description of one version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.describe, address, version)
