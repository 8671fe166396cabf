"""The folder that holds artifacts on disk: its layout, and versions that appear whole or never.

Blocking work without asyncio; the file artifact service calls it in threads.

    root/apps/APP/users/USER[/sessions/SESSION]/artifacts/NAME/versions/N/{content,metadata.json}
    root/.staging/    versions being written and artifacts being removed
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ostinato._clock import new_id
from ostinato.artifacts._address import Address, Scope

# File systems allow 255 bytes for one name.
_MAX_NAME = 200
# Percent and tilde never follow each other in quoted text, so this marks shortened names alone.
_SHORTENED = "%~"


class VersionMetadata(BaseModel):
    """What `metadata.json` holds: the part without its content, and what is known about it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    file_name: str
    mime_type: str | None = None
    create_time: float
    custom_metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    content: Literal["text", "data"] | None = None
    part: dict[str, Any]


class ArtifactFolder:
    """Reads and writes versions below one root folder.

    Several processes may share the root: a version takes its number when its finished folder is
    renamed into place, which the operating system grants to one of them only.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._staging = root / ".staging"
        self._staging.mkdir(parents=True, exist_ok=True)

    def version_path(self, address: Address, version: int) -> Path:
        """The folder of one version, there or not."""
        return self._artifact_path(address) / "versions" / str(version)

    def write(self, address: Address, metadata: VersionMetadata, content: bytes) -> int:
        """Store a new version and return its number."""
        staged = self._staging / new_id()
        staged.mkdir()
        try:
            (staged / "content").write_bytes(content)
            (staged / "metadata.json").write_text(
                metadata.model_dump_json(by_alias=True), encoding="utf-8"
            )
            return self._publish(staged, address)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def versions(self, address: Address) -> list[int]:
        """The numbers of all versions, rising."""
        return _version_numbers(self._artifact_path(address))

    def read_metadata(self, address: Address, version: int) -> VersionMetadata | None:
        """The metadata of one version, None if there is no such version."""
        return _read_metadata(self.version_path(address, version))

    def read(self, address: Address, version: int) -> tuple[VersionMetadata, bytes] | None:
        """Metadata and content of one version, None if there is no such version."""
        folder = self.version_path(address, version)
        metadata = _read_metadata(folder)
        try:
            return (metadata, (folder / "content").read_bytes()) if metadata else None
        except FileNotFoundError:  # removed since
            return None

    def remove(self, address: Address) -> None:
        """Remove all versions at once, if there are any."""
        removed = self._staging / new_id()
        try:
            os.rename(self._artifact_path(address), removed)
        except FileNotFoundError:
            return
        shutil.rmtree(removed, ignore_errors=True)

    def names(self, scope: Scope) -> list[str]:
        """The names of all artifacts of one scope, in no order."""
        try:
            folders = list(os.scandir(self._scope_path(scope)))
        except FileNotFoundError:
            return []
        names = (_artifact_name(Path(folder.path)) for folder in folders)
        return [name for name in names if name is not None]

    def _publish(self, staged: Path, address: Address) -> int:
        versions = self._artifact_path(address) / "versions"
        number = max(_version_numbers(versions.parent), default=-1) + 1
        while True:
            versions.mkdir(parents=True, exist_ok=True)
            try:
                os.rename(staged, versions / str(number))
                return number
            except OSError:
                # Another writer took the number, or the artifact was removed: look again.
                if versions.is_dir() and not (versions / str(number)).exists():
                    raise
                number = max(_version_numbers(versions.parent), default=-1) + 1

    def _artifact_path(self, address: Address) -> Path:
        return self._scope_path(address.scope) / _folder_name(address.filename)

    def _scope_path(self, scope: Scope) -> Path:
        app_name, user_id, session_id = scope
        path = self._root / "apps" / _folder_name(app_name) / "users" / _folder_name(user_id)
        if session_id is not None:
            path = path / "sessions" / _folder_name(session_id)
        return path / "artifacts"


def _folder_name(text: str) -> str:
    """Any text as the name of one folder, never `.`, `..` or hidden, and never with a separator."""
    name = quote(text, safe=" @+,=")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if name.endswith((".", " ")):
        name = name[:-1] + ("%2E" if name[-1] == "." else "%20")
    if len(name) > _MAX_NAME:
        name = f"{name[:100]}{_SHORTENED}{hashlib.sha256(text.encode()).hexdigest()}"
    return name


def _artifact_name(folder: Path) -> str | None:
    """The artifact's name, None if the folder holds no version."""
    numbers = _version_numbers(folder)
    if not numbers:
        return None
    if _SHORTENED not in folder.name:
        return unquote(folder.name)
    metadata = _read_metadata(folder / "versions" / str(numbers[-1]))
    return metadata.file_name if metadata else None


def _version_numbers(artifact: Path) -> list[int]:
    try:
        entries = os.listdir(artifact / "versions")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(entry) for entry in entries if entry.isdecimal())


def _read_metadata(folder: Path) -> VersionMetadata | None:
    try:
        text = (folder / "metadata.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return VersionMetadata.model_validate_json(text)
