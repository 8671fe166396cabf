"""The folder that holds artifacts on disk: its layout, and versions that appear whole or never.

Blocking work without asyncio; the file artifact service calls it in threads.

    root/apps/APP/users/USER[/sessions/SESSION]/artifacts/NAME/versions/N/{content,metadata.json}
    root/.staging/    versions being written and artifacts being removed
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ostinato._clock import new_id
from ostinato.artifacts._address import Address, Scope
from ostinato.artifacts._stored_part import ContentKind
from ostinato.errors import StoreError

# File systems allow 255 bytes for one name.
_MAX_NAME = 200
# Percent and tilde never follow each other in quoted text, so this marks shortened names alone.
_SHORTENED = "%~"

_FULL = "has no room: the disk or the quota is full; free some space"
_READ_ONLY = "cannot be used; let this process read and write it"
_NO_FOLDER = "holds a file where a folder should be; move that file away, or give another root_dir"
_MEANINGS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "refuses a file of that size; raise the limit on file sizes",
    errno.ENOENT: "is gone; make it again, or restore it from a backup",
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,
    errno.EIO: "met an input/output error; check the disk that holds it",
}


class VersionMetadata(BaseModel):
    """What `metadata.json` holds: the part without its content, and what is known about it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    file_name: str
    mime_type: str | None = None
    create_time: float
    custom_metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    content: ContentKind = None
    part: dict[str, Any]


class ArtifactFolder:
    """Reads and writes versions below one root folder.

    Several processes may share the root: a version takes its number when its finished folder is
    renamed into place, which the operating system grants to one of them only. Every method raises
    StoreError where the operating system refuses.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._staging = root / ".staging"
        with self._named():
            self._staging.mkdir(parents=True, exist_ok=True)

    def version_path(self, address: Address, version: int) -> Path:
        """The folder of one version, there or not."""
        return self._artifact_path(address) / "versions" / str(version)

    def write(self, address: Address, metadata: VersionMetadata, content: bytes) -> int:
        """Store a new version and return its number; it is on the disk then."""
        staged = self._staging / new_id()
        with self._named():
            try:
                staged.mkdir()
                _write_file(staged / "content", content)
                text = metadata.model_dump_json(by_alias=True)
                _write_file(staged / "metadata.json", text.encode("utf-8"))
                _sync_folder(staged)
                return self._publish(staged, address)
            finally:
                shutil.rmtree(staged, ignore_errors=True)

    def versions(self, address: Address) -> list[int]:
        """The numbers of all versions, rising."""
        with self._named():
            return _version_numbers(self._artifact_path(address))

    def read_metadata(self, address: Address, version: int) -> VersionMetadata | None:
        """The metadata of one version, None if there is no such version."""
        with self._named():
            return self._read_metadata(self.version_path(address, version))

    def read(self, address: Address, version: int) -> tuple[VersionMetadata, bytes] | None:
        """Metadata and content of one version, None if there is no such version."""
        folder = self.version_path(address, version)
        with self._named():
            metadata = self._read_metadata(folder)
            try:
                return (metadata, (folder / "content").read_bytes()) if metadata else None
            except FileNotFoundError:  # removed since
                return None

    def remove(self, address: Address) -> None:
        """Remove all versions at once, if there are any."""
        removed = self._staging / new_id()
        artifact = self._artifact_path(address)
        with self._named():
            try:
                os.rename(artifact, removed)
            except FileNotFoundError:
                return
            _sync_folder(artifact.parent)
        shutil.rmtree(removed, ignore_errors=True)

    def names(self, scope: Scope) -> list[str]:
        """The names of all artifacts of one scope, in no order."""
        with self._named():
            try:
                folders = list(os.scandir(self._scope_path(scope)))
            except FileNotFoundError:
                return []
            names = (self._artifact_name(Path(folder.path)) for folder in folders)
            return [name for name in names if name is not None]

    def _publish(self, staged: Path, address: Address) -> int:
        versions = self._artifact_path(address) / "versions"
        number = max(_version_numbers(versions.parent), default=-1) + 1
        while True:
            self._make_folder(versions)
            try:
                os.rename(staged, versions / str(number))
            except OSError:
                # Another writer took the number, or the artifact was removed: look again.
                if versions.is_dir() and not (versions / str(number)).exists():
                    raise
                number = max(_version_numbers(versions.parent), default=-1) + 1
            else:
                _sync_folder(versions)
                return number

    def _make_folder(self, folder: Path) -> None:
        """Make a folder and those above it, each on the disk before what it holds."""
        if folder.is_dir():
            return
        missing = [folder]
        while not missing[-1].parent.is_dir() and missing[-1].parent != self._root:
            missing.append(missing[-1].parent)
        folder.mkdir(parents=True, exist_ok=True)
        for made in reversed(missing):
            with suppress(FileNotFoundError):  # removed again by another: nothing to keep
                _sync_folder(made.parent)

    def _artifact_name(self, folder: Path) -> str | None:
        """The artifact's name, None if the folder holds no version."""
        numbers = _version_numbers(folder)
        if not numbers:
            return None
        if _SHORTENED not in folder.name:
            return unquote(folder.name)
        metadata = self._read_metadata(folder / "versions" / str(numbers[-1]))
        return metadata.file_name if metadata else None

    def _read_metadata(self, folder: Path) -> VersionMetadata | None:
        try:
            text = (folder / "metadata.json").read_bytes()
        except FileNotFoundError:
            return None
        try:
            return VersionMetadata.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(
                f"The artifact folder {self._root.name!r} is damaged: a version's metadata.json "
                "cannot be read; restore it from a backup, or delete the artifact."
            ) from error

    @contextmanager
    def _named(self) -> Generator[None]:
        """Give an error of the operating system the store's name, and take the paths from it."""
        try:
            yield
        except OSError as error:
            meaning = _MEANINGS.get(error.errno or 0, f"failed: {error.strerror or 'OSError'}")
            raise StoreError(f"The artifact folder {self._root.name!r} {meaning}.") from error

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


def _version_numbers(artifact: Path) -> list[int]:
    try:
        entries = os.listdir(artifact / "versions")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(entry) for entry in entries if entry.isdecimal())


def _write_file(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":  # Windows opens no folders, and keeps their names by itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
