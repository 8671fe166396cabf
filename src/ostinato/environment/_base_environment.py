"""Port of environments, and the result of a command."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputValidationError

# Of a file that is read or written, unless the environment is told otherwise.
MAX_FILE_BYTES = 16 * 1024**2


def check_timeout(timeout: float | None) -> None:
    """Refuse a time limit that is not a number: no time would ever be over.

    Raises:
      InputValidationError: it is NaN.
    """
    if timeout is not None and math.isnan(timeout):
        raise InputValidationError("The timeout is NaN. Give a number of seconds, or None.")


def check_size(path: str | Path, data: bytes, most: int) -> None:
    """Refuse a file that could not be read again.

    Raises:
      OSError: it is too large.
    """
    if len(data) > most:
        raise OSError(f"{str(path)!r} would have more than {most:,} bytes, the most of a file.")


@dataclass
class ExecutionResult:
    """The result of a command.

    Attributes:
      exit_code: its exit status; negative: number of the signal that ended it.
      stdout, stderr: what it printed.
      timed_out: True if it was ended because it took too long.
    """

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False


class BaseEnvironment(ABC):
    """A working directory in which an agent runs shell commands, reads and writes files.

    Call `initialize` before the first use and `close` after the last one. A subclass sets
    `_is_initialized` in both.
    """

    _is_initialized: bool = False

    @property
    def is_initialized(self) -> bool:
        """True between `initialize` and `close`."""
        return self._is_initialized

    async def initialize(self) -> None:
        """Prepare the environment; a second call changes nothing."""
        return

    async def close(self) -> None:
        """Release what the environment holds; a second call changes nothing."""
        return

    @property
    @abstractmethod
    def working_dir(self) -> Path:
        """The absolute path of the directory in which commands start."""

    @abstractmethod
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
          Its exit code and its output.
        """

    @abstractmethod
    async def read_file(self, path: Path) -> bytes:
        """Return what a file holds.

        Args:
          path: absolute, or relative to the working directory.

        Raises:
          FileNotFoundError: there is no such file.
          OSError: it cannot be read. A model chooses the path, so an environment reads regular
            files only, and up to a size.
        """

    @abstractmethod
    async def write_file(self, path: Path, content: str | bytes) -> None:
        """Write a file; parent folders are made.

        Args:
          path: absolute, or relative to the working directory.
          content: bytes, or a text to store as UTF-8.
        """
