"""The files of a skill's folder or archive, read within bounds and without a way out of it."""

from __future__ import annotations

import os
import stat
import unicodedata
import zipfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from ..agent_files.document import display_name
from ..errors import AgentFileError, AgentFileNotFoundError

_MAX_FILES = 2_000
_MAX_BYTES = 64_000_000
_MAX_DEPTH = 32
_IGNORED = frozenset((".git", ".venv", "__pycache__", "__MACOSX", ".DS_Store"))
_NO_FILE = "it is neither a file nor a folder; take it out."
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe makes no one wait
_FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | _NO_LINK
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
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
    files: dict[str, bytes] = {}
    size = 0
    with _open_root(folder) as root:
        for name, path, descriptor in _walk(root, folder, root.descriptor, "", 0):
            with open(descriptor, "rb") as stream:
                _check_count(folder, len(files))
                files[name] = _read(path, stream, _MAX_BYTES - size + 1)
            size = _add_size(folder, size, len(files[name]))
    return dict(sorted(files.items()))


def read_skill_file(folder: Path, name: str, max_bytes: int) -> bytes:
    """Return the beginning of a file that lies in a skill's folder.

    Raises:
      AgentFileNotFoundError: there is no such folder.
      AgentFileError: it is a link that leads out of the folder, or it cannot be read.
    """
    path = folder / name
    with _open_root(folder) as root:
        descriptor = _open_file(root, path, root.descriptor)
        with open(descriptor, "rb") as stream:
            return _read(path, stream, max_bytes)


def _read(path: Path, stream: IO[bytes], max_bytes: int) -> bytes:
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        raise skill_fault(path, _NO_FILE)
    try:
        return stream.read(max_bytes)
    except OSError as error:
        raise skill_fault(path, f"it cannot be read: {error.strerror}.") from error


class _Root(NamedTuple):
    """A skill's folder while it is read.

    Attributes:
      path: the folder, without links.
      descriptor: the open folder. Others may replace files and folders by links meanwhile, so each
        is opened in its open folder and never through a link. Systems that lack this have None.
    """

    path: Path
    descriptor: int | None


@contextmanager
def _open_root(folder: Path) -> Generator[_Root]:
    if not folder.is_dir():
        raise AgentFileNotFoundError(
            f"Skill directory {display_name(folder)!r} not found.", file=display_name(folder)
        )
    path = resolve_links(folder)
    if not _HAS_DESCRIPTORS:
        yield _Root(path, None)
        return
    descriptor = _open_entry(folder, str(path), None, _FOLDER)
    try:
        yield _Root(path, descriptor)
    finally:
        os.close(descriptor)


def _walk(
    root: _Root, folder: Path, descriptor: int | None, above: str, depth: int
) -> Iterator[tuple[str, Path, int]]:
    """Yield of all files below a folder the path within the skill, the file and its descriptor."""
    if depth > _MAX_DEPTH:
        raise skill_fault(folder, f"the skill's folders are nested deeper than {_MAX_DEPTH}.")
    with os.scandir(folder if descriptor is None else descriptor) as entries:
        found = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in entries)
    for name, is_folder in found:
        path = folder / name
        if name in _IGNORED:
            continue
        if not is_folder:
            yield f"{above}{name}", path, _open_file(root, path, descriptor)
        elif descriptor is None:
            yield from _walk(root, path, None, f"{above}{name}/", depth + 1)
        else:
            inner = _open_entry(path, name, descriptor, _FOLDER)
            try:
                yield from _walk(root, path, inner, f"{above}{name}/", depth + 1)
            finally:
                os.close(inner)


def _open_file(root: _Root, path: Path, folder: int | None) -> int:
    """Open a file of a folder; if it is a link, the file of the skill that it leads to."""
    name = str(path) if folder is None else path.name
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError as error:
        raise skill_fault(path, f"it cannot be read: {error.strerror}.") from error
    if not stat.S_ISLNK(mode):
        if not stat.S_ISREG(mode):
            raise skill_fault(path, _NO_FILE)
        return _open_entry(path, name, folder, _FILE)
    target = _check_link(path, root.path)
    if root.descriptor is None:
        return _open_entry(path, str(target), None, _FILE)
    with ExitStack() as stack:
        inner = root.descriptor
        for part in target.parent.relative_to(root.path).parts:
            inner = _open_entry(path, part, inner, _FOLDER)
            stack.callback(os.close, inner)
        return _open_entry(path, target.name, inner, _FILE)


def _open_entry(path: Path, name: str, folder: int | None, flags: int) -> int:
    """Open an entry of a folder, unless it is a link."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise skill_fault(path, f"it cannot be read: {error.strerror}.") from error


def resolve_links(path: Path) -> Path:
    """Return a path without symbolic links; a link in a loop leads to itself."""
    return Path(os.path.realpath(path))


def _check_link(path: Path, root: Path) -> Path:
    """Return the file that a link leads to."""
    target = resolve_links(path)
    if not target.is_relative_to(root):
        raise skill_fault(
            path, "the link leads out of the skill's folder. Put a copy of the file in its place."
        )
    if not target.is_file():
        raise skill_fault(path, "the link leads to no file. Put the file itself in its place.")
    return target


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
    """Refuse paths that differ only by the case of letters or the form of an accent, and files that
    are folders too.

    Raises:
      AgentFileError: two paths would be one file on some systems, or a file lies below a file.
    """
    known: dict[str, str] = {}
    names = list(files)
    for name in names:
        other = known.setdefault(_fold_name(name), name)
        if other != name:
            raise skill_fault(
                place / name, f"its name clashes with {other!r} on some systems; rename one."
            )
    for name in names:
        for parent in PurePosixPath(_fold_name(name)).parents:
            if str(parent) in known:
                other = known[str(parent)]
                raise skill_fault(place / name, f"{other!r} is a file, no folder; rename one.")


def _fold_name(name: str) -> str:
    """Return what equals for names that are one file on some systems."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def normalize_path(path: str) -> str:
    """Return a path in a skill's folder in its plain form; empty if it leads out of the folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts:
        return ""
    return "/".join(parts)
