"""Artifacts kept in a folder: for one machine, or several that share a file system.

    root/apps/APP/users/USER[/sessions/SESSION]/artifacts/NAME/versions/N/{content,metadata.json}
    root/.staging/    versions being written and artifacts being removed

Only the owner of the process may read what is made here.
"""

from __future__ import annotations

import asyncio
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

from ostinato._absences import refuse_absent
from ostinato._clock import now, unique_id
from ostinato._private_files import make_private_folders, open_private
from ostinato.artifacts._address import Address, Scope, check_text
from ostinato.artifacts._stored_artifacts import (
    ContentKind,
    StoredArtifactService,
    StoredPart,
    put_together,
    take_apart,
)
from ostinato.artifacts.base_artifact_service import ArtifactVersion, find_mime_type
from ostinato.errors import InputValidationError, StoreError
from ostinato.types import Part

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


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


class FileArtifactService(StoredArtifactService):
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
        self._folder = self._store = ArtifactFolder(self.root_dir)

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Remove all artifacts of a user.

        Args:
            app_name: the app; None for all apps.
            user_id: the user.

        Returns:
            How many there were.
        """
        check_text(user_id, "user_id")  # an id that is refused today may have files from before
        check_text(app_name or user_id, "app_name")
        return await asyncio.to_thread(self._folder.remove_user, app_name, user_id)


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
        try:
            with self._translate_errors():
                make_private_folders(self._staging)
        except StoreError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise StoreError(
                f"The artifact folder {root.name!r} cannot be made: the folder that would hold it "
                "takes no new ones."
            ) from error.__cause__

    def version_path(self, address: Address, version: int) -> Path:
        """The folder of one version, there or not."""
        return self._artifact_path(address) / "versions" / str(version)

    def write(self, address: Address, part: Part, custom_metadata: dict[str, Any]) -> int:
        """Store a new version and return its number; it is on the disk then."""
        stored = take_apart(part)
        metadata = VersionMetadata(
            file_name=address.filename,
            mime_type=find_mime_type(part, address.filename),
            create_time=now(),
            custom_metadata=custom_metadata,
            content=stored.kind,
            part=stored.fields,
        )
        staged = self._staging / unique_id()
        with self._translate_errors():
            try:
                staged.mkdir(0o700)
                _write_file(staged / "content", stored.content)
                text = metadata.model_dump_json(by_alias=True)
                _write_file(staged / "metadata.json", text.encode("utf-8"))
                _sync_folder(staged)
                return self._publish_version(staged, address)
            finally:
                shutil.rmtree(staged, ignore_errors=True)

    def versions(self, address: Address) -> list[int]:
        """The numbers of all versions, rising."""
        with self._translate_errors():
            return _version_numbers(self._artifact_path(address))

    def describe(self, address: Address, version: int | None) -> ArtifactVersion | None:
        """Describe a version (default: the latest); None if it does not exist."""
        number = self._pick_version(address, version)
        if number is None:
            return None
        folder = self.version_path(address, number)
        with self._translate_errors():
            metadata = self._read_metadata(folder)
        if metadata is None:
            return None
        return ArtifactVersion(
            version=number,
            canonical_uri=(folder / "content").as_uri(),
            custom_metadata=metadata.custom_metadata,
            create_time=metadata.create_time,
            mime_type=metadata.mime_type,
        )

    def describe_all(self, address: Address) -> list[ArtifactVersion]:
        """Describe all versions, in rising order."""
        found = (self.describe(address, number) for number in self.versions(address))
        return [version for version in found if version]

    def read(self, address: Address, version: int | None) -> Part | None:
        """Return the content of a version (default: the latest); None if it does not exist."""
        number = self._pick_version(address, version)
        if number is None:
            return None
        folder = self.version_path(address, number)
        with self._translate_errors():
            metadata = self._read_metadata(folder)
            if metadata is None:
                return None
            try:
                content = (folder / "content").read_bytes()
            except FileNotFoundError:  # removed since
                return None
        return put_together(StoredPart(metadata.content, metadata.part, content))

    def _pick_version(self, address: Address, version: int | None) -> int | None:
        if version is None:
            return max(self.versions(address), default=None)
        return version if version >= 0 else None

    def remove(self, address: Address) -> None:
        """Remove all versions at once, if there are any."""
        removed = self._staging / unique_id()
        artifact = self._artifact_path(address)
        with self._translate_errors():
            try:
                os.rename(artifact, removed)
            except FileNotFoundError:
                return
            _sync_folder(artifact.parent)
        shutil.rmtree(removed, ignore_errors=True)

    def remove_user(self, app_name: str | None, user_id: str) -> int:
        """Remove all artifacts of a user, of all apps for None; return how many there were."""
        with self._translate_errors():
            try:
                apps = (
                    [self._root / "apps" / _folder_name(app_name)]
                    if app_name
                    else list((self._root / "apps").iterdir())
                )
            except FileNotFoundError:
                return 0
            return sum(self._remove_folder(app / "users" / _folder_name(user_id)) for app in apps)

    def _remove_folder(self, folder: Path) -> int:
        """Remove a user's folder at once, if there is one; return how many artifacts it held."""
        removed = self._staging / unique_id()
        try:
            os.rename(folder, removed)
        except (FileNotFoundError, NotADirectoryError):
            return 0
        _sync_folder(folder.parent)
        held = [*removed.glob("artifacts/*"), *removed.glob("sessions/*/artifacts/*")]
        shutil.rmtree(removed)
        return len(held)

    def names(self, scope: Scope) -> list[str]:
        """The names of all artifacts of one scope, in no order."""
        with self._translate_errors():
            try:
                folders = list(os.scandir(self._scope_path(scope)))
            except FileNotFoundError:
                return []
            names = (self._artifact_name(Path(folder.path)) for folder in folders)
            return [name for name in names if name is not None]

    def _publish_version(self, staged: Path, address: Address) -> int:
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
        make_private_folders(folder)
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
    def _translate_errors(self) -> Generator[None]:
        """Translate errors of the operating system into StoreError without its paths."""
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
    with os.fdopen(open_private(path), "wb") as file:
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
