"""SetupError: an agent or a store that cannot be used until the person who starts it acts.

The command line prints it; the server returns it to the page.
"""

from __future__ import annotations


class SetupError(Exception):
    """A set-up failure, with what to do about it.

    Args:
      message: one paragraph, without "error:" in front.
      missing: whether the named file, folder or module does not exist.
      file: the file in which it lies, or None if it lies in none.
      line: the line in that file, from 1, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        missing: bool = False,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.missing = missing
        self.file = file
        self.line = line
