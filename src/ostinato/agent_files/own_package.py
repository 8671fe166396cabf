"""The package of an agent's folder, so that its files may name `my_agent.tools.look_up`."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from itertools import chain, count
from pathlib import Path
from types import ModuleType

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


def own_package(folder: Path) -> str:
    """Return the name under which a folder is imported as a package; import it if necessary.

    The package gets the folder's name, or the next one that is free. `sys.path` does not change.

    Args:
      folder: absolute path.
    """
    for name, module in list(sys.modules.items()):
        if is_package_of(module, folder):
            return name
    name = choose_package_name(re.sub(r"\W", "_", folder.name), folder)
    import_package(name, folder)
    return name


def choose_package_name(name: str, folder: Path) -> str:
    """Return the name for a folder's package: `name`, `name_agent`, `name_agent_2`, and so on.

    It is the first one that the folder's package already has, or that no other module has.

    Args:
      name: the folder's name, without dots.
      folder: absolute path of the package's top folder.
    """
    numbered = (f"{name}_agent_{number}" for number in count(2))
    names = chain((name, f"{name}_agent"), numbered)
    return next(one for one in names if _can_name(one, folder))


def _can_name(name: str, folder: Path) -> bool:
    """Return whether a folder's package has a name, or may get it."""
    if is_package_of(sys.modules.get(name), folder):
        return True
    # A module below the name would be imported instead of the folder's.
    taken = any(one == name or one.startswith(f"{name}.") for one in list(sys.modules))
    return not taken and not is_reserved(name, folder)


def is_package_of(module: ModuleType | None, folder: Path) -> bool:
    """Return whether a module is the package of a folder."""
    try:
        places = list(getattr(module, "__path__", ()))
        # Hundreds of packages may be loaded, and to resolve both paths of each takes long.
        return bool(places) and os.path.samefile(places[0], folder)
    except (OSError, TypeError, KeyError):  # a lazy module, or a namespace that has gone
        return False


def import_package(name: str, folder: Path) -> ModuleType:
    """Import the package of a folder under a name, even if another package has that name."""
    init = folder / "__init__.py"
    if not init.is_file():
        module = ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
        return module
    spec = importlib.util.spec_from_file_location(
        name, init, submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{init.name} cannot be imported: Python knows no loader for it.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # boundary: whatever the module raises, no half of it stays
        del sys.modules[name]
        raise
    return module
