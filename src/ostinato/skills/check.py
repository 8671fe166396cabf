"""The strict check of skills: everything that the format forbids, and what reading passes over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ..agent_files.document import display_name
from ..errors import AgentFileError
from .loading import build_skill, find_skills
from .models import Skill
from .shebang import read_command
from .skill_document import FIELDS, SkillDocument, parse_skill
from .skill_files import ARCHIVES, SKILL_FILE, read_archive, read_folder, resolve_links

_MAX_LINES = 500
_LINK = re.compile(r"\]\(([^()\s]+)\)")


def check_skills(folder: Path) -> dict[str, list[str]]:
    """Return the faults of the skills in a folder, by the name of the skill's folder or archive.

    A folder that is a skill itself is checked alone.

    Args:
      folder: the folder.

    Raises:
      AgentFileNotFoundError: there is no such folder.
      MissingExtraError: PyYAML is not installed.
    """
    is_skill = (folder / SKILL_FILE).is_file() or folder.suffix in ARCHIVES
    places = [folder.absolute()] if is_skill else find_skills(folder.absolute())
    return {place.name: list(_check_skill(place)) for place in places}


def _check_skill(place: Path) -> Iterator[str]:
    reported: list[str] = []
    try:
        if place.suffix in ARCHIVES and place.is_file():
            name, files = read_archive(place)
        else:
            name, files = resolve_links(place).name, read_folder(place)
    except AgentFileError as error:
        yield from str(error).split("\n")
        return
    shown = display_name(place / SKILL_FILE)
    try:
        skill = build_skill(place, name, files, reported.append)
    except AgentFileError as error:
        yield from (f"{shown}, {problem}" for problem in reported)
        yield from str(error).split("\n")
        yield from _check_fields_of(place, files)
        return
    yield from (f"{shown}, {problem}" for problem in reported)
    if SKILL_FILE not in files:
        yield f"{display_name(place)}: the file is called skill.md; call it {SKILL_FILE}."
        return
    document = parse_skill(place / SKILL_FILE, files[SKILL_FILE])
    yield from _check_fields(document)
    yield from _check_text(shown, document, skill)
    for path, script in skill.resources.scripts.items():
        if script.src.startswith("#!") and read_command("", script.src) is None:
            yield f"{place.name}/scripts/{path}, line 1: the shebang is empty."


def _check_fields_of(place: Path, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the faults of the fields of a skill that cannot be loaded."""
    try:
        document = parse_skill(place / SKILL_FILE, files.get(SKILL_FILE, b""))
    except AgentFileError:
        return  # the fault that is told already
    yield from _check_fields(document)


def _check_fields(document: SkillDocument) -> Iterator[str]:
    source = document.source
    misspelled = document.find_misspelled_fields()
    for name in source.data:
        if name in misspelled:
            problem = f"the field is not read; write `{misspelled[name]}`."
            yield str(source.fault(problem, (str(name),)))
        elif name not in FIELDS:
            problem = "there is no such field; put it below `metadata`."
            yield str(source.fault(problem, (str(name),)))
    metadata: Any = source.data.get("metadata")
    if not isinstance(metadata, dict):
        return
    for name, value in cast("dict[Any, Any]", metadata).items():
        if not isinstance(value, str) and not str(name).startswith("adk_"):
            problem = "the value is not a text; put it in quotes."
            yield str(source.fault(problem, ("metadata", str(name))))


def _check_text(shown: str, document: SkillDocument, skill: Skill) -> Iterator[str]:
    lines = document.text.split("\n")
    if not document.text:
        yield f"{shown}: there are no instructions below the frontmatter."
    if len(lines) > _MAX_LINES:
        yield (
            f"{shown}: the instructions have {len(lines)} lines; keep them below {_MAX_LINES}, and "
            "move the rest to files of references/."
        )
    files = skill.resources.all_files()
    for number, line in enumerate(lines, document.first_line):
        for target in _LINK.findall(line):
            path = target.partition("#")[0].removeprefix("./")
            if path and "://" not in path and not path.startswith("mailto:") and path not in files:
                yield f"{shown}, line {number}: there is no file {path!r} in the skill."
