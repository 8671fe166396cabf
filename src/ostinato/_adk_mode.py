"""Whether this process runs programs written for google-adk. `ostinato.compat` switches it.

Where google-adk's behaviour would be a fault in a program written for Ostinato, only programs that
come through the alias get it.
"""

from __future__ import annotations

_mode = {"follows_adk": False}


def follows_adk() -> bool:
    """Return whether `google.adk` means Ostinato in this process."""
    return _mode["follows_adk"]


def set_follows_adk(value: bool) -> None:
    """Switch google-adk's own ways on or off, for the whole process."""
    _mode["follows_adk"] = value
