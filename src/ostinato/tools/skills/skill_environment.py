"""SkillEnvironment: an environment in which scripts of skills run."""

from __future__ import annotations

import asyncio
import shlex
from asyncio import AbstractEventLoop, Lock
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from weakref import WeakKeyDictionary

from ...environment import BaseEnvironment, ExecutionResult
from ...skills.models import Skill
from ...skills.shebang import PYTHON
from ...skills.skill_files import normalize_path

_FOLDER = Path("skills")  # in the working directory
_LINKED = 73  # exit status
_MOST_COMMANDS = 100
_TIMEOUT = 60.0


@dataclass(frozen=True)
class ScriptCall:
    """A call of a script.

    Attributes:
      program: the words that run it; `python` stands for a Python.
      path: the script in the skill's folder.
      args: its arguments.
      timeout: seconds that it may take.
      key: the idempotency key, which it reads from OSTINATO_IDEMPOTENCY_KEY.
    """

    program: Sequence[str]
    path: str
    args: Sequence[str]
    timeout: float
    key: str


class SkillEnvironment:
    """Keeps the files of skills in an environment, and runs their scripts there.

    The environment is initialized for the first script. A skill's files are written for its first
    script, and again if they have changed.

    Args:
      environment: the environment; its commands are those of a POSIX shell.
      folder: the absolute path of the folder for skills; None for `skills` in the working
        directory.
    """

    def __init__(self, environment: BaseEnvironment, folder: Path | None) -> None:
        self._environment = environment
        self._folder = folder
        self._is_used = False
        self._written: dict[str, Skill] = {}
        self._locks = WeakKeyDictionary[AbstractEventLoop, Lock]()

    @property
    def folder(self) -> Path:
        """The absolute path of the folder for skills."""
        return self._folder or self._environment.working_dir / _FOLDER

    @property
    def shown_folder(self) -> str:
        """The folder as commands name it, relative to the working directory if it lies there."""
        return (self._folder or _FOLDER).as_posix()

    async def run(self, skill: Skill, script: ScriptCall) -> ExecutionResult:
        """Run a script in the environment's working directory.

        Raises:
          ValueError: a file of the skill lies outside of its folder.
        """
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(loop, Lock()):  # no script reads half of a file
            if not self._environment.is_initialized:
                self._written.clear()
                await self._environment.initialize()
            self._is_used = True
            if not await self._has_files(skill, script.path):
                await self._write_files(skill)
        program = ["python3" if word == PYTHON else word for word in script.program]
        place = f"{self.shown_folder}/{skill.name}/{script.path}"
        variables = f"OSTINATO_IDEMPOTENCY_KEY={shlex.quote(script.key)} PYTHONDONTWRITEBYTECODE=1"
        command = f"{variables} {shlex.join([*program, place, *script.args])}"
        return await self._environment.execute(command, timeout=script.timeout)

    async def _has_files(self, skill: Skill, path: str) -> bool:
        """Return whether the environment holds the skill unchanged, judged by one of its files."""
        if self._written.get(skill.name) != skill:
            return False
        try:
            found = await self._environment.read_file(self._locate(skill, path))
        except OSError:
            return False
        return found == _encode(skill.resources.all_files()[path])

    async def _write_files(self, skill: Skill) -> None:
        files = skill.resources.all_files()
        for path in files:
            if normalize_path(path) != path:
                raise ValueError(f"the path {path!r} leads out of the skill {skill.name!r}.")
        await self._clear_places(skill, [*files])
        for path, content in files.items():
            await self._environment.write_file(self._locate(skill, path), _encode(content))
        self._written[skill.name] = skill

    async def _clear_places(self, skill: Skill, paths: Sequence[str]) -> None:
        """Remove what lies where files of a skill go: a link there would lead out of the folder.

        Raises:
          ValueError: a folder of the skill is a link.
        """
        root = PurePosixPath(self.shown_folder)
        places = [root / skill.name / path for path in paths]
        folders = {one for place in places for one in place.parents if one.is_relative_to(root)}
        if self._folder is not None:
            folders.discard(root)  # the developer's own, which may be a link
        names = sorted(map(str, folders)), sorted(map(str, places))
        commands = [f"if [ -L {shlex.quote(one)} ]; then exit {_LINKED}; fi" for one in names[0]]
        commands += [f"rm -f -- {shlex.quote(one)}" for one in names[1]]
        for start in range(0, len(commands), _MOST_COMMANDS):
            text = "\n".join(commands[start : start + _MOST_COMMANDS])
            found = await self._environment.execute(text, timeout=_TIMEOUT)
            if found.exit_code == _LINKED:
                raise ValueError(
                    f"a folder of the skill {skill.name!r} is a link in the environment; remove it."
                )

    def _locate(self, skill: Skill, path: str) -> Path:
        return Path(self.shown_folder, skill.name, path)

    async def close(self) -> None:
        """Close the environment if a script has used it."""
        if self._is_used:
            self._is_used = False
            await self._environment.close()


def _encode(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
