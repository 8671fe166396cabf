"""ConfigType: an agent class's settings, whose module is imported when a file is read."""

from __future__ import annotations

import sys
from typing import Any


class ConfigType:
    """A class attribute that is a class of the room's lazy face.

    Args:
      name: the class's name in `ostinato.agents`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return getattr(sys.modules[__package__ or ""], self.name)
