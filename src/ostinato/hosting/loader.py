"""Loading a user's agent from a folder, a file or a dotted module. The command line
and the server call it.

The folder is a package whose name is the app's name, so that relative imports work as they do for
google-adk's tools.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..agents.base_agent import BaseAgent
from ..apps.app import App
from ..compat.alias import arm, is_installed
from .dotenv import load_env
from .failure import SetupError
from .load_failure import explain_import, nothing_there, nothing_to_run, wrong_type

_MODULE = "agent"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An agent that was found.

    Attributes:
      app: the App, where the module defines one.
      root: the root agent.
      app_name: name under which sessions are kept.
      folder: the agent's folder.
      keys: names of the variables that its `.env` set.
      through_alias: True if it imports google.adk, which is Ostinato then.
    """

    app: App | None
    root: BaseAgent
    app_name: str
    folder: Path
    keys: list[str]
    through_alias: bool = False


def load(path: str) -> Loaded:
    """Import the agent that `path` names.

    One that imports `google.adk` gets Ostinato under that name, unless google-adk is installed.

    Raises:
      SetupError: there is nothing, it cannot be imported, or it defines no agent.
    """
    arm()
    loaded = _load(path)
    return replace(loaded, through_alias=is_installed())


def _load(path: str) -> Loaded:
    place = Path(path).expanduser()
    if place.is_dir():
        return _load_folder(place.resolve())
    if place.is_file() and place.suffix == ".py":
        return _load_file(place.resolve())
    if not place.exists() and all(part.isidentifier() for part in path.split(".")):
        found = _load_dotted(path)
        if found is not None:
            return found
    raise nothing_there(path)


def _load_folder(folder: Path) -> Loaded:
    if not ((folder / "__init__.py").is_file() or (folder / f"{_MODULE}.py").is_file()):
        raise nothing_there(str(folder))
    keys = load_env(folder)
    package = _package(folder)
    modules = [package]
    if _agent_of(package) is None and (folder / f"{_MODULE}.py").is_file():
        modules.append(_import(f"{package.__name__}.{_MODULE}", folder))
    return _loaded(modules, folder, folder.name, keys)


def _load_file(file: Path) -> Loaded:
    folder = file.parent
    if file.name == "__init__.py":
        return _load_folder(folder)
    keys = load_env(folder)
    package = _package(folder)
    if not (folder / "__init__.py").is_file():
        _add_path(folder)  # a lone script's neighbours are imported by their bare names
    module = _import(f"{package.__name__}.{file.stem}", folder)
    return _loaded([module], folder, folder.name if file.stem == _MODULE else file.stem, keys)


def _load_dotted(name: str) -> Loaded | None:
    _add_path(Path.cwd())
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    except Exception as error:  # boundary: a parent package of the user's cannot be imported
        raise explain_import(error, Path.cwd()) from error
    if spec is None:
        return None
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    folder = Path(origin).parent if spec.origin else Path(origin)
    keys = load_env(folder)
    modules = [_import(name, folder)]
    if _agent_of(modules[0]) is None and (folder / f"{_MODULE}.py").is_file():
        modules.append(_import(f"{name}.{_MODULE}", folder))
    last = name.split(".")[-2:]
    return _loaded(modules, folder, last[0] if last[-1] == _MODULE else last[-1], keys)


def _package(folder: Path) -> ModuleType:
    """Import a folder as a package, under its own name wherever that name is free."""
    top, dotted = folder, folder.name
    while (top / "__init__.py").is_file() and (top.parent / "__init__.py").is_file():
        top = top.parent
        dotted = f"{top.name}.{dotted}"
    name = top.name.replace(".", "_")
    taken = name in sys.stdlib_module_names or name in sys.modules
    if taken and _home(sys.modules.get(name)) != top:
        dotted = dotted.replace(top.name, f"{name}_agent", 1)
        name = f"{name}_agent"
    _add_path(top.parent)
    if _home(sys.modules.get(name)) != top:
        _seed(name, top, folder)
    rest = dotted.partition(".")[2] if top != folder else ""
    return _import(f"{name}.{rest}", folder) if rest else sys.modules[name]


def _home(module: ModuleType | None) -> Path | None:
    """Return the folder of a package."""
    places = list(getattr(module, "__path__", ()))
    return Path(places[0]).resolve() if places else None


def _seed(name: str, top: Path, folder: Path) -> None:
    """Put the package of a folder in place, whatever else of that name may be installed."""
    init = top / "__init__.py"
    if not init.is_file():
        module = ModuleType(name)
        module.__path__ = [str(top)]
        sys.modules[name] = module
        return
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(top)])
    if spec is None or spec.loader is None:
        raise SetupError(f"{init} cannot be imported: Python knows no loader for it.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # boundary: whatever the user's module raises, the person is told
        del sys.modules[name]
        raise explain_import(error, folder) from error


def _import(name: str, folder: Path) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # boundary: whatever the user's module raises, the person is told
        raise explain_import(error, folder) from error


def _add_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _agent_of(module: ModuleType) -> Any:
    """Return what a module offers to run: an App before a root agent; None for nothing."""
    submodule = getattr(module, _MODULE, None)
    for home in (module, submodule if isinstance(submodule, ModuleType) else None):
        app = getattr(home, "app", None)
        if isinstance(app, App):
            return app
        root = getattr(home, "root_agent", None)
        if root is not None:
            return root
    return None


def _loaded(modules: list[ModuleType], folder: Path, name: str, keys: list[str]) -> Loaded:
    for module in modules:
        found = _agent_of(module)
        if isinstance(found, App):
            return Loaded(found, found.root_agent, found.name, folder, keys)
        if isinstance(found, BaseAgent):
            return Loaded(None, found, name, folder, keys)
        if found is not None:
            raise wrong_type(found, os.path.relpath(folder))
    raise nothing_to_run(modules, os.path.relpath(folder))
