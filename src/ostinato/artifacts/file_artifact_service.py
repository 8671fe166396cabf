"""Artifacts kept in a folder: for one machine, or several that share a file system."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ostinato._clock import now
from ostinato.artifacts._address import Address, locate, scope_of
from ostinato.artifacts._artifact_folder import ArtifactFolder, VersionMetadata
from ostinato.artifacts._reference import find_target, load_resolved
from ostinato.artifacts._stored_part import StoredPart, put_together, take_apart
from ostinato.artifacts.artifact_util import is_artifact_ref
from ostinato.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    copy_metadata,
    ensure_part,
    find_mime_type,
)
from ostinato.errors import InputValidationError
from ostinato.types import Part


class FileArtifactService(BaseArtifactService):
    """Keeps each version in a folder of its own, which appears whole or not at all.

    A version is on the disk, name and all, before its number is returned. A killed process leaves
    no half version behind; several processes may write at once. All work on files runs in threads.
    Methods raise StoreError where the folder cannot be used; its message names no other folder.
    """

    def __init__(self, root_dir: Path | str) -> None:
        """Use `root_dir` (`~` is expanded), and make it if it is not there.

        Raises:
            InputValidationError: `root_dir` is empty or no path.
            StoreError: it cannot be made, or is not a folder.
        """
        if not str(root_dir) or "\0" in str(root_dir):
            raise InputValidationError(
                f"FileArtifactService needs a folder; root_dir is {str(root_dir)[:40]!r}. Give a "
                "path such as './artifacts'."
            )
        self.root_dir = Path(root_dir).expanduser().resolve()
        self._folder = ArtifactFolder(self.root_dir)

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
        part = ensure_part(artifact)
        if is_artifact_ref(part):
            find_target(part, address)
        mime_type = find_mime_type(part, filename)
        stored = take_apart(part)
        metadata = VersionMetadata(
            file_name=filename,
            mime_type=mime_type,
            create_time=now(),
            custom_metadata=copy_metadata(custom_metadata, filename),
            content=stored.kind,
            part=stored.fields,
        )
        return await asyncio.to_thread(self._folder.write, address, metadata, stored.content)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """The content of one version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await load_resolved(self._read, address, version)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """The names in session and user scope, sorted; see `BaseArtifactService`."""
        scope = scope_of(app_name, user_id, session_id)
        scopes = {scope, (app_name, user_id, None)}

        def names() -> list[str]:
            return sorted(name for key in scopes for name in self._folder.names(key))

        return await asyncio.to_thread(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        await asyncio.to_thread(self._folder.remove, address)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The numbers of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._folder.versions, address)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """What is known about all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)

        def describe_all() -> list[ArtifactVersion]:
            found = (self._describe(address, n) for n in self._folder.versions(address))
            return [version for version in found if version]

        return await asyncio.to_thread(describe_all)

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
        address = locate(app_name, user_id, session_id, filename)

        def describe() -> ArtifactVersion | None:
            number = self._pick(address, version)
            return None if number is None else self._describe(address, number)

        return await asyncio.to_thread(describe)

    def _pick(self, address: Address, version: int | None) -> int | None:
        if version is None:
            return max(self._folder.versions(address), default=None)
        return version if version >= 0 else None

    def _describe(self, address: Address, number: int) -> ArtifactVersion | None:
        metadata = self._folder.read_metadata(address, number)
        if metadata is None:
            return None
        return ArtifactVersion(
            version=number,
            canonical_uri=(self._folder.version_path(address, number) / "content").as_uri(),
            custom_metadata=metadata.custom_metadata,
            create_time=metadata.create_time,
            mime_type=metadata.mime_type,
        )

    async def _read(self, address: Address, version: int | None) -> Part | None:
        def read() -> Part | None:
            number = self._pick(address, version)
            found = None if number is None else self._folder.read(address, number)
            if found is None:
                return None
            metadata, content = found
            return put_together(StoredPart(metadata.content, metadata.part, content))

        return await asyncio.to_thread(read)
