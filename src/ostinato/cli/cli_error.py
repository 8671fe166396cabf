"""CliError: an error that the person at the terminal can fix, with the command's exit code."""

from __future__ import annotations

FAILED = 1
USAGE = 2
ANSWERED = 3
INTERRUPTED = 130
UNREAD = 141  # as of a process that SIGPIPE ends


class CliError(Exception):
    """An error message that says what went wrong and what to do.

    Args:
      message: one paragraph, without "error:" in front.
      code: exit code: 1 for a failure, 2 for wrong usage, 3 for a call that was already answered.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
