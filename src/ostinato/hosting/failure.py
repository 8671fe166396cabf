"""SetupError: an agent or a store cannot be used, for a reason that the person who starts it can
mend. The command line prints it; the server tells it where the page asks.
"""

from __future__ import annotations


class SetupError(Exception):
    """What went wrong and what to do, in words for a person.

    Args:
      message: one paragraph, without "error:" in front.
      missing: whether what was named is not there at all.
    """

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.missing = missing
