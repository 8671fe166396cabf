"""Environment in a directory of this machine, with commands as child processes."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .._regular_files import read_regular_file, write_regular_file
from ..errors import AgentConfigError, InputValidationError
from ..processes.captured_run import run_captured
from ._base_environment import (
    MAX_FILE_BYTES,
    BaseEnvironment,
    ExecutionResult,
    check_size,
    check_timeout,
)

_OUTPUT_BYTES = 10_000_000
_KILLED = -9


class LocalEnvironment(BaseEnvironment):
    """Runs commands as child processes of this process, in a directory of this machine.

    A command runs in a shell with the environment of this process; when it ends, so do all
    processes that it started. This is not a sandbox: commands and paths reach whatever this user
    can read and write, keys in the environment included. Give it to a model only where that is
    safe, such as in a container.

    Args:
      working_dir: directory in which commands start; it is made if it is missing, and kept. By
        default `initialize` makes a temporary one, and `close` removes it.
      env_vars: variables that commands get beside those of this process.
      max_file_bytes: size of the largest file that is read; 16 MiB by default.

    Raises:
      AgentConfigError: `max_file_bytes` is not positive.
    """

    def __init__(
        self,
        *,
        working_dir: Path | None = None,
        env_vars: Mapping[str, str] | None = None,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        if max_file_bytes <= 0:
            raise AgentConfigError(
                f"LocalEnvironment: max_file_bytes is {max_file_bytes}, but must be more than 0."
            )
        self._max_file_bytes = max_file_bytes
        self._working_dir = None if working_dir is None else Path(working_dir)
        self._is_temporary = working_dir is None
        self._env_vars = dict(env_vars or {})

    @property
    def working_dir(self) -> Path:
        """The absolute path of the directory in which commands start.

        Raises:
          RuntimeError: the environment has no directory yet; await `initialize()`.
        """
        if self._working_dir is None:
            raise RuntimeError(
                "LocalEnvironment has no working_dir yet: await initialize() first, or give "
                "LocalEnvironment(working_dir=...)."
            )
        return self._working_dir

    async def initialize(self) -> None:
        """Make the working directory; a second call changes nothing."""
        if self._is_initialized:
            return
        if self._working_dir is None:
            made = await asyncio.to_thread(tempfile.mkdtemp, prefix="ostinato_workspace_")
            self._working_dir = Path(made)
        else:
            await asyncio.to_thread(self._working_dir.mkdir, parents=True, exist_ok=True)
        self._is_initialized = True

    async def close(self) -> None:
        """Remove the working directory if `initialize` made a temporary one."""
        if self._is_temporary and self._working_dir is not None:
            await asyncio.to_thread(shutil.rmtree, self._working_dir, ignore_errors=True)
            self._working_dir = None
        self._is_initialized = False

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the port has it
    ) -> ExecutionResult:
        """Run a shell command in the working directory.

        Args:
          command: the command line.
          timeout: seconds after which it is ended; None for no bound.

        Returns:
          Its exit code and its output, of which at most 10 MB each are kept. Bytes that are not
          UTF-8 are written as `\\xff`.

        Raises:
          InputValidationError: `command` is not a text that a shell can be given, or `timeout` is
            NaN.
          RuntimeError: the environment has no directory yet.
        """
        _check_command(command)
        check_timeout(timeout)
        folder = self.working_dir
        ended = await run_captured(
            _shell_words(command),
            cwd=folder,
            home=folder,
            seconds=timeout,
            output_bytes=_OUTPUT_BYTES,
            environment={**os.environ, **self._env_vars},
            errors="backslashreplace",
        )
        status = _KILLED if ended.is_timed_out else ended.status
        return ExecutionResult(status, ended.stdout, ended.stderr, ended.is_timed_out)

    async def read_file(self, path: str | Path) -> bytes:
        """Return what a file holds.

        Args:
          path: absolute, or relative to the working directory.

        Raises:
          FileNotFoundError: there is no such file.
          OSError: it is not a regular file (a FIFO, a device), is larger than `max_file_bytes`, or
            cannot be read.
          RuntimeError: the environment has no directory yet.
        """
        return await asyncio.to_thread(
            read_regular_file, self.working_dir / path, self._max_file_bytes
        )

    async def write_file(self, path: str | Path, content: str | bytes) -> None:
        """Write a file; parent folders are made.

        Args:
          path: absolute, or relative to the working directory.
          content: bytes, or a text to store as UTF-8.

        Raises:
          OSError: the path is not a regular file (a FIFO, a device), `content` is larger than
            `max_file_bytes`, or it cannot be written.
          RuntimeError: the environment has no directory yet.
        """
        data = content.encode() if isinstance(content, str) else content
        check_size(path, data, self._max_file_bytes)
        await asyncio.to_thread(_write_bytes, self.working_dir / path, data)


def _check_command(command: object) -> None:
    """Refuse an invalid command; a model chooses it, so its type is not certain."""
    if not isinstance(command, str) or "\0" in command:
        raise InputValidationError(
            f"A command has to be a text without NUL characters, not {command!r:.80}."
        )


def _shell_words(command: str) -> list[str]:
    if os.name == "nt":
        return ["cmd.exe", "/c", command]
    return ["/bin/sh", "-c", command]


def _write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_regular_file(path, data)
