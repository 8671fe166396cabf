"""Module names that an agent's package must not take: those of Python and of Ostinato's
dependencies, imported or not.
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
    """Return whether Python or a dependency of Ostinato has a module of this name.

    An agent may shadow any other installed package.

    Args:
      name: the name, without dots.
      folder: the folder; what lies beside it does not count.
    """
    if name in sys.stdlib_module_names:
        return True
    beside = str(folder.parent)
    elsewhere = [place for place in sys.path if os.path.abspath(place) != beside]
    if PathFinder.find_spec(name, elsewhere) is None:  # avoids reading all metadata below
        return False
    return any(_normalize_name(one) in _list_dependencies() for one in _list_homes().get(name, ()))


@cache
def _list_homes() -> dict[str, list[str]]:
    """Return the distributions that are installed, by the top-level modules that they bring."""
    return dict(metadata.packages_distributions())


@cache
def _list_dependencies() -> frozenset[str]:
    """Return the distributions that Ostinato and its extras need, all the way down."""
    found: set[str] = set()
    left = [_SELF]
    while left:
        name = _normalize_name(left.pop())
        if name in found:
            continue
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        left += [one[0] for one in map(_NAME.match, lines) if one is not None]
    return frozenset(found)


def _normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
