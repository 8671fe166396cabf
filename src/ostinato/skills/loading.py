"""Loading of skills from folders, zip archives, projects and buckets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .._log import get_logger
from .._optional import need
from ..agent_files.document import display_name
from ..errors import AgentFileError, AgentFileNotFoundError
from .models import Frontmatter, Resources, Script, Skill
from .shebang import is_text, needs_shebang, read_command
from .skill_document import MAX_BYTES, Report, parse_skill
from .skill_files import (
    ARCHIVES,
    SKILL_FILE,
    check_clashes,
    read_archive,
    read_folder,
    read_skill_file,
    resolve_links,
    skill_fault,
)

PROJECT_FOLDERS = (".agents/skills", ".claude/skills")
_log = get_logger(__name__)
OnError = Callable[[str, Exception], None]
_P = ParamSpec("_P")
_T = TypeVar("_T")


def load_skill_from_dir(skill_dir: str | Path) -> Skill:
    """Load a skill with every file of its folder.

    Args:
      skill_dir: the folder, or a zip archive of it (`.zip` or `.skill`).

    Raises:
      AgentFileNotFoundError: there is no such folder, or no SKILL.md in it.
      AgentFileError: the skill cannot be used; the message names file, line and field. It is a
        ValueError.
      MissingExtraError: PyYAML is not installed.
    """
    path = Path(skill_dir).absolute()
    if path.suffix in ARCHIVES and not path.is_dir():
        name, files = read_archive(path)
        return build_skill(path, name, files)
    return build_skill(path, resolve_links(path).name, read_folder(path))


def load_skills_from_dir(skills_dir: str | Path) -> list[Skill]:
    """Load every skill of a folder: each folder with a SKILL.md, and each archive.

    Returns:
      The skills, in order of their names.

    Raises:
      AgentFileNotFoundError: there is no such folder.
      AgentFileError: a skill cannot be used, or two have one name.
    """
    return _load_all(find_skills(Path(skills_dir)))


def load_skills_from_project(
    folder: str | Path = ".", *, places: Sequence[str] = PROJECT_FOLDERS
) -> list[Skill]:
    """Load the skills that a project keeps for its agents.

    A skill that is linked from one place to another counts once.

    Args:
      folder: the project's folder.
      places: where skills lie in it; those that do not exist are skipped.

    Returns:
      The skills, in order of their names.

    Raises:
      AgentFileError: a skill cannot be used, or two have one name.
    """
    root = Path(folder)
    found = [
        path for place in places if (root / place).is_dir() for path in find_skills(root / place)
    ]
    return _load_all(list({resolve_links(path): path for path in found}.values()))


def find_skills(folder: Path) -> list[Path]:
    """Return the folders and archives of a folder that hold a skill, in order of their names.

    Raises:
      AgentFileNotFoundError: there is no such folder.
    """
    if not folder.is_dir():
        raise AgentFileNotFoundError(
            f"Skills directory {display_name(folder.absolute())!r} not found.",
            file=display_name(folder.absolute()),
        )
    return [
        path
        for path in sorted(folder.iterdir())
        if (path.suffix in ARCHIVES and path.is_file()) or _find_skill_file(path) is not None
    ]


def _find_skill_file(folder: Path) -> Path | None:
    paths = (folder / name for name in (SKILL_FILE, SKILL_FILE.lower()))
    return next((path for path in paths if path.is_file()), None)


def _load_all(places: Sequence[Path]) -> list[Skill]:
    skills: dict[str, tuple[Path, Skill]] = {}
    for place in places:
        skill = load_skill_from_dir(place)
        if skill.name in skills:
            other = display_name(skills[skill.name][0].absolute())
            raise skill_fault(
                place.absolute(), f"{other} has a skill of this name too; keep one.", 1, "name"
            )
        skills[skill.name] = place, skill
    return [skills[name][1] for name in sorted(skills)]


def list_skills_in_dir(
    skills_base_path: str | Path, on_error: OnError | None = None
) -> dict[str, Frontmatter]:
    """Return the frontmatter of the skills in a folder, by name; those with faults are left out.

    Args:
      skills_base_path: the folder.
      on_error: is called with the folder's name and the error of a skill that is left out; without
        it, a warning is logged.
    """
    root = Path(skills_base_path)
    if not root.is_dir():
        _log.warning("There are no skills: %s is not a directory.", display_name(root.absolute()))
        return {}
    found: dict[str, Frontmatter] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        try:
            frontmatter = _read_frontmatter(folder)
        except (AgentFileError, OSError) as error:
            (on_error or _log_left_out)(folder.name, error)
        else:
            found[frontmatter.name] = frontmatter
    return found


def _log_left_out(name: str, error: Exception) -> None:
    _log.warning("Skill %r is left out: %s", name, error)


def _read_frontmatter(folder: Path) -> Frontmatter:
    file = _find_skill_file(folder)
    if file is None:
        raise _missing_skill_file(folder)
    data = read_skill_file(folder, file.name, MAX_BYTES + 1)
    document = parse_skill(file.absolute(), data)
    return document.read_frontmatter(resolve_links(folder).name)


def _missing_skill_file(place: Path) -> AgentFileNotFoundError:
    shown = display_name(place)
    return AgentFileNotFoundError(f"SKILL.md not found in {shown!r}.", file=shown)


def build_skill(
    place: Path, folder: str, files: Mapping[str, bytes], report: Report | None = None
) -> Skill:
    """Return the skill that files make.

    Args:
      place: their folder or archive, for messages.
      folder: the folder's name, which is the skill's.
      files: the files, by path.
      report: takes each fault that reading passed over; without it only misspelled fields are
        logged.

    Raises:
      AgentFileError: they make no skill.
    """
    file = next((name for name in (SKILL_FILE, SKILL_FILE.lower()) if name in files), None)
    if file is None:
        raise _missing_skill_file(place)
    check_clashes(place, files)
    document = parse_skill(place / file, files[file], report or (lambda problem: None))
    frontmatter = document.read_frontmatter(folder)
    if report is None:
        for name, right in document.find_misspelled_fields().items():
            fault = document.source.fault(f"the field is not read; write `{right}`.", (name,))
            _log.warning("%s", fault)
    resources = Resources()
    for name, data in files.items():
        if name != file:
            _add_file(place, resources, name, data)
    return Skill(frontmatter=frontmatter, instructions=document.text, resources=resources)


def _add_file(place: Path, resources: Resources, name: str, data: bytes) -> None:
    top, slash, below = name.partition("/")
    content = data.decode("utf-8") if is_text(data) else data
    if slash and top == "references":
        resources.references[below] = content
    elif slash and top == "assets":
        resources.assets[below] = content
    elif slash and top == "scripts" and isinstance(content, str):
        if needs_shebang(below) and read_command(below, content) is None:
            raise skill_fault(
                place / name,
                "the script has no shebang and no suffix such as .py or .sh, so nothing can run "
                "it; begin it with a line such as `#!/usr/bin/env python3`.",
                1,
                "scripts",
            )
        resources.scripts[below] = Script(src=content)
    else:
        resources.files[name] = content


def load_skill_from_gcs_dir(
    bucket_name: str,
    skill_id: str,
    skills_base_path: str = "",
    project_id: str | None = None,
    credentials: Any = None,
) -> Skill:
    """Load a skill from a bucket of Google Cloud Storage.

    Args:
      bucket_name: the bucket.
      skill_id: the skill's folder below `skills_base_path`, which is its name.
      skills_base_path: a folder of the bucket.
      project_id, credentials: as for google-cloud-storage's `Client`.

    Raises:
      AgentFileNotFoundError: there is no SKILL.md in the folder.
      AgentFileError: the skill cannot be used.
      MissingExtraError: google-cloud-storage is not installed.
    """
    base = _join_prefix(skills_base_path, skill_id)
    bucket = _open_bucket(bucket_name, project_id, credentials)
    names = [blob.name for blob in bucket.list_blobs(prefix=base) if not blob.name.endswith("/")]
    files = {name.removeprefix(base): bucket.blob(name).download_as_bytes() for name in names}
    return build_skill(
        Path(f"/{bucket_name}/{base}"), skill_id.strip("/").rpartition("/")[2], files
    )


def list_skills_in_gcs_dir(
    bucket_name: str,
    skills_base_path: str = "",
    project_id: str | None = None,
    credentials: Any = None,
    on_error: OnError | None = None,
) -> dict[str, Frontmatter]:
    """Return the frontmatter of the skills in a folder of a bucket, by name.

    Args:
      bucket_name: the bucket.
      skills_base_path: a folder of the bucket.
      project_id, credentials: as for google-cloud-storage's `Client`.
      on_error: as for `list_skills_in_dir`.

    Raises:
      MissingExtraError: google-cloud-storage is not installed.
    """
    base = _join_prefix(skills_base_path)
    bucket = _open_bucket(bucket_name, project_id, credentials)
    found: dict[str, Frontmatter] = {}
    for blob in bucket.list_blobs(prefix=base):
        folder, slash, name = blob.name.removeprefix(base).partition("/")
        if not slash or name != SKILL_FILE:
            continue
        try:
            document = parse_skill(Path(f"/{bucket_name}/{blob.name}"), blob.download_as_bytes())
            found[folder] = document.read_frontmatter(folder)
        except AgentFileError as error:
            (on_error or _log_left_out)(folder, error)
    return found


def _join_prefix(*parts: str) -> str:
    path = "/".join(part.strip("/") for part in parts if part.strip("/"))
    return f"{path}/" if path else ""


def _open_bucket(name: str, project: str | None, credentials: Any) -> Any:
    storage = need("google.cloud.storage", extra="gcs")
    return storage.Client(project=project, credentials=credentials).bucket(name)


def _make_async(load: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Return the async form of a loader, which reads in a thread."""

    @wraps(load)
    async def load_in_thread(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.to_thread(load, *args, **kwargs)

    load_in_thread.__name__ = load_in_thread.__qualname__ = f"{load.__name__}_async"
    return load_in_thread


load_skill_from_dir_async = _make_async(load_skill_from_dir)
load_skills_from_dir_async = _make_async(load_skills_from_dir)
list_skills_in_dir_async = _make_async(list_skills_in_dir)
load_skill_from_gcs_dir_async = _make_async(load_skill_from_gcs_dir)
list_skills_in_gcs_dir_async = _make_async(list_skills_in_gcs_dir)
