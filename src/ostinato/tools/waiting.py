"""What a tool returns whose call cannot be answered yet, as something in it waits for the user.

The flow leaves such a call open and ends the run; the call is run again when the user has answered.
"""

from __future__ import annotations

from typing import Final


class _Waiting:
    __slots__ = ()

    def __repr__(self) -> str:
        return "WAITING"


WAITING: Final = _Waiting()
