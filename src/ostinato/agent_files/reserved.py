"""Names that the package of an agent's folder does not get: Python's modules', and those of what
Ostinato itself needs, now or when it is first asked for.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

_SELF = "ostinato"
_NAME = re.compile(r"[\w.-]+")


def is_reserved(name: str, folder: Path) -> bool:
    """Tell whether the package of a folder cannot have a name: Python, or what Ostinato needs, has
    a module of it. Whatever else may be installed counts for less than the agent.

    Args:
      name: the name, without dots.
      folder: the folder; what lies beside it does not count.
    """
    if name in sys.stdlib_module_names:
        return True
    beside = str(folder.parent)
    elsewhere = [place for place in sys.path if os.path.abspath(place) != beside]
    if PathFinder.find_spec(name, elsewhere) is None:  # what follows reads much
        return False
    return any(_normal(one) in _needed() for one in _homes().get(name, ()))


@cache
def _homes() -> dict[str, list[str]]:
    """Return the distributions that are installed, by the top-level modules that they bring."""
    return dict(metadata.packages_distributions())


@cache
def _needed() -> frozenset[str]:
    """Return the distributions that Ostinato and its extras need, all the way down."""
    found: set[str] = set()
    left = [_SELF]
    while left:
        name = _normal(left.pop())
        if name in found:
            continue
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        left += [one[0] for one in map(_NAME.match, lines) if one is not None]
    return frozenset(found)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
