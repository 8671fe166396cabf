"""CliError: a command cannot go on, for a reason that the person at the terminal can mend."""

from __future__ import annotations

FAILED = 1
USAGE = 2
INTERRUPTED = 130


class CliError(Exception):
    """What went wrong and what to do, in words for a person.

    Args:
      message: one paragraph, without "error:" in front.
      code: exit code: 1 for a failure, 2 for a command that makes no sense.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
