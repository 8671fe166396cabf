"""What a scripted model says, in words of no provider; each format's folder writes it on the wire.

The same turns over all adapters must give the same events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A function call of the model's.

    Attributes:
      name: the function.
      args: its arguments.
      id: the provider's id of the call; formats without ids leave it out.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = "call_1"


@dataclass(frozen=True)
class Turn:
    """One response of the model.

    Attributes:
      text: what it says.
      calls: what it calls, after the text.
      thought: what it thinks, before the text.
      signature: the provider's proof of the thought.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thought: str = ""
    signature: str = "c2lnbmVk"
