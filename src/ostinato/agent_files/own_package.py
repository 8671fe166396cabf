"""The package of an agent's folder, so that its files may name `my_agent.tools.look_up`."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from .reserved import is_reserved


def own_package(folder: Path) -> str:
    """Return the name under which a folder is imported as a package; import it if necessary.

    The package gets the folder's name if that is free. `sys.path` does not change.

    Args:
      folder: absolute path.
    """
    for name, module in list(sys.modules.items()):
        if is_package_of(module, folder):
            return name
    name = re.sub(r"\W", "_", folder.name)
    if name in sys.modules or is_reserved(name, folder):
        name = f"{name}_agent"
    import_package(name, folder)
    return name


def is_package_of(module: ModuleType | None, folder: Path) -> bool:
    """Return whether a module is the package of a folder."""
    try:
        places = list(getattr(module, "__path__", ()))
        return bool(places) and Path(places[0]).resolve() == folder.resolve()
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
