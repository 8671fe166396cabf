"""The files of a skill's folder or archive, read within bounds and without a way out of it."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ..agent_files.document import display_name
from ..errors import AgentFileError, AgentFileNotFoundError

_MAX_FILES = 2_000
_MAX_BYTES = 64_000_000
_MAX_DEPTH = 32
_IGNORED = frozenset((".git", ".venv", "__pycache__", "__MACOSX", ".DS_Store"))
ARCHIVES = (".zip", ".skill")
SKILL_FILE = "SKILL.md"


def skill_fault(
    path: Path, problem: str, line: int | None = None, field: str = ""
) -> AgentFileError:
    """Return the error for a file of a skill.

    Args:
      path: the file.
      problem: what is wrong and what to do.
      line: the line, from 1.
      field: what of the skill is at fault.
    """
    shown = display_name(path)
    words = [shown, f"line {line}" if line else "", field]
    return AgentFileError(
        f"{', '.join(filter(None, words))}: {problem}", file=shown, line=line, field=field
    )


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder and of those below it, by path, in order of their paths.

    Raises:
      AgentFileNotFoundError: there is no such folder.
      AgentFileError: a link leads out of the folder, a file cannot be read, or it is too much.
    """
    if not folder.is_dir():
        raise AgentFileNotFoundError(
            f"Skill directory {display_name(folder)!r} not found.", file=display_name(folder)
        )
    files: dict[str, bytes] = {}
    size = 0
    for name, path in _walk(folder, resolve_links(folder), "", 0):
        _check_count(folder, len(files))
        try:
            with path.open("rb") as stream:
                files[name] = stream.read(_MAX_BYTES - size + 1)
        except OSError as error:
            raise skill_fault(path, f"it cannot be read: {error.strerror}.") from error
        size = _add_size(folder, size, len(files[name]))
    return dict(sorted(files.items()))


def _walk(folder: Path, root: Path, above: str, depth: int) -> Iterator[tuple[str, Path]]:
    """Yield the path within the skill, and the file, of all files below a folder."""
    if depth > _MAX_DEPTH:
        raise skill_fault(folder, f"the skill's folders are nested deeper than {_MAX_DEPTH}.")
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        path, name = Path(entry.path), f"{above}{entry.name}"
        if entry.name in _IGNORED:
            continue
        if entry.is_symlink():
            _check_link(path, root)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, root, f"{name}/", depth + 1)
        elif entry.is_file():
            yield name, path
        else:
            raise skill_fault(path, "it is neither a file nor a folder; take it out.")


def resolve_links(path: Path) -> Path:
    """Return a path without symbolic links; a link in a loop leads to itself."""
    return Path(os.path.realpath(path))


def _check_link(path: Path, root: Path) -> None:
    target = resolve_links(path)
    if not target.is_relative_to(root):
        raise skill_fault(
            path, "the link leads out of the skill's folder. Put a copy of the file in its place."
        )
    if not target.is_file():
        raise skill_fault(path, "the link leads to no file. Put the file itself in its place.")


def _check_count(place: Path, count: int) -> None:
    if count >= _MAX_FILES:
        raise skill_fault(place, f"the skill has more than {_MAX_FILES:,} files; take some out.")


def _add_size(place: Path, size: int, more: int) -> int:
    if size + more > _MAX_BYTES:
        raise skill_fault(
            place, f"the skill's files have more than {_MAX_BYTES:,} bytes; take some out."
        )
    return size + more


def read_archive(file: Path) -> tuple[str, dict[str, bytes]]:
    """Return the name of a skill's folder in a zip archive, and its files by path.

    An archive without a folder at its top gives its own name to the folder.

    Raises:
      AgentFileNotFoundError: there is no such file.
      AgentFileError: it is not an archive of one skill, a path or a link leads out of it, two paths
        clash, or it is too much.
    """
    if not file.is_file():
        raise AgentFileNotFoundError(
            f"Skill archive {display_name(file)!r} not found.", file=display_name(file)
        )
    try:
        with zipfile.ZipFile(file) as archive:
            files = _read_members(file, archive)
    except (zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError, EOFError) as error:
        raise skill_fault(file, f"it is not a zip archive that can be read: {error}.") from error
    tops = {name.partition("/")[0] for name in files}
    if any(name.lower() == SKILL_FILE.lower() for name in files) or len(tops) != 1:
        return file.stem, files
    (top,) = tops
    return top, {name.removeprefix(f"{top}/"): data for name, data in files.items()}


def _read_members(file: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    size = 0
    for member in archive.infolist():
        name = member.filename
        path = PurePosixPath(name)
        if _IGNORED & set(path.parts):
            continue
        if "\\" in name or ":" in name or path.is_absolute() or ".." in path.parts:
            raise skill_fault(file, f"the path {name!r} leads out of the skill; take it out.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise skill_fault(file, f"{name!r} is a link; put the file itself in its place.")
        if member.is_dir():
            continue
        if path.as_posix() in files:
            raise skill_fault(file, f"two files have the path {name!r}; keep one.")
        _check_count(file, len(files))
        with archive.open(member) as stream:
            data = stream.read(_MAX_BYTES - size + 1)
        size = _add_size(file, size, len(data))
        files[path.as_posix()] = data
    return dict(sorted(files.items()))


def check_clashes(place: Path, files: Iterable[str]) -> None:
    """Refuse paths that differ only by the case of their letters.

    Raises:
      AgentFileError: two paths would be one file on some systems.
    """
    known: dict[str, str] = {}
    for name in files:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise skill_fault(
                place / name, f"its name clashes with {other!r} on some systems; rename one."
            )


def normalize_path(path: str) -> str:
    """Return a path in a skill's folder in its plain form; empty if it leads out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts:
        return ""
    return "/".join(parts)
