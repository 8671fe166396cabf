"""Loader of a user's agent from a folder, a file or a dotted module, and of plugins by name.

The folder is imported as a package with the app's name, so that relative imports work as they do
for google-adk's tools.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..agent_files.own_package import choose_package_name, import_package, is_package_of
from ..agents.base_agent import BaseAgent
from ..agents.config_agent_utils import from_config
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import as_agent
from ..apps.app import App
from ..compat.alias import arm, is_installed
from ..context.node import BaseNode
from ..errors import AgentConfigError, AgentFileError, MissingExtraError
from ..plugins.base_plugin import BasePlugin
from ..tools.base_toolset import BaseToolset
from .dotenv import load_env
from .load_failure import explain_import, nothing_there, nothing_to_run, wrong_type
from .setup_error import SetupError

_MODULE = "agent"
AGENT_FILE = "root_agent.yaml"
_FILE_ENDS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """A loaded agent.

    Attributes:
      app: the App, or None if the module defines none.
      root: the root agent.
      app_name: name under which sessions are kept.
      folder: the agent's folder.
      keys: names of the variables that its `.env` set.
      through_alias: True if it imports google.adk and gets Ostinato under that name.
      doc: the docstring of the module that defines it; of a YAML file, that of its package.
    """

    app: App | None
    root: BaseAgent
    app_name: str
    folder: Path
    keys: list[str]
    through_alias: bool = False
    doc: str = ""


def load_agent(path: str, allow_code_from: Sequence[str] = ()) -> LoadedAgent:
    """Import the agent at `path`, or build the agent that a YAML file describes.

    Code that imports `google.adk` gets Ostinato under that name, unless google-adk is installed.

    Args:
      path: folder, Python file, YAML file or dotted module.
      allow_code_from: modules, or single names of Ostinato, that a YAML file may name besides the
        code of its own folder and the allow list; see `config_agent_utils.from_config`.

    Raises:
      SetupError: the path does not exist, cannot be imported, or defines no agent.
    """
    arm()
    loaded = _load_from(path, allow_code_from)
    return replace(loaded, through_alias=is_installed())


def has_agent(folder: Path) -> bool:
    """Return whether `load_agent` accepts a folder."""
    names = (f"{_MODULE}.py", "__init__.py", AGENT_FILE)
    return any((folder / name).is_file() for name in names)


def language_of(folder: Path) -> str:
    """Return in what an agent's folder describes it, as google-adk's server names it."""
    return "yaml" if (folder / AGENT_FILE).is_file() else "python"


def uses_computer(agent: BaseAgent) -> bool:
    """Return whether an agent of a tree has a computer to use."""
    tools: list[Any] = list(agent.tools) if isinstance(agent, LlmAgent) else []
    if any(isinstance(tool, BaseToolset) and tool.uses_computer for tool in tools):
        return True
    return any(map(uses_computer, agent.sub_agents))


def forget_modules(place: Path) -> None:
    """Remove an agent's modules from `sys.modules`, so that they are imported again."""
    root = str(place) + os.sep
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        places = [str(folder) + os.sep for folder in getattr(module, "__path__", None) or ()]
        if (file is not None and (file == str(place) or file.startswith(root))) or root in places:
            del sys.modules[name]


def _load_from(path: str, allow_code_from: Sequence[str]) -> LoadedAgent:
    place = Path(path).expanduser()
    if place.is_dir():
        return _load_folder(place.resolve(), allow_code_from)
    if place.is_file() and place.suffix == ".py":
        return _load_file(place.resolve(), allow_code_from)
    if place.is_file() and place.suffix in _FILE_ENDS:
        file = place.resolve()
        return _load_described(file, allow_code_from, load_env(file.parent))
    if not place.exists() and all(part.isidentifier() for part in path.split(".")):
        found = _load_dotted(path)
        if found is not None:
            return found
    raise nothing_there(path)


def _load_folder(folder: Path, allow_code_from: Sequence[str]) -> LoadedAgent:
    if not has_agent(folder):
        raise nothing_there(str(folder))
    keys = load_env(folder)
    package = _import_package(folder)
    modules = [package]
    if _agent_of(package) is None and (folder / f"{_MODULE}.py").is_file():
        modules.append(_import_module(f"{package.__name__}.{_MODULE}", folder))
    if (folder / AGENT_FILE).is_file() and not any(_agent_of(one) for one in modules):
        return _load_described(folder / AGENT_FILE, allow_code_from, keys)
    return _read_modules(modules, folder, folder.name, keys)


def _load_described(file: Path, allow_code_from: Sequence[str], keys: list[str]) -> LoadedAgent:
    """Build the agent of a YAML file, which may refer to the code of its folder as a package."""
    folder = file.parent
    package = _import_package(folder)
    try:
        root = from_config(file, allow_code_from=allow_code_from)
    except AgentFileError as error:
        at = folder.parent / error.file  # it names its own folder
        raise SetupError(str(error), file=str(at), line=error.line) from error
    except (AgentConfigError, MissingExtraError) as error:
        raise SetupError(str(error)) from error
    name = folder.name if file.name == AGENT_FILE else file.stem
    return LoadedAgent(None, root, name, folder, keys, doc=package.__doc__ or "")


def _load_file(file: Path, allow_code_from: Sequence[str]) -> LoadedAgent:
    folder = file.parent
    if file.name == "__init__.py":
        return _load_folder(folder, allow_code_from)
    keys = load_env(folder)
    package = _import_package(folder)
    if not (folder / "__init__.py").is_file():
        _add_path(folder)  # a lone script's neighbours are imported by their bare names
    module = _import_module(f"{package.__name__}.{file.stem}", folder)
    return _read_modules([module], folder, folder.name if file.stem == _MODULE else file.stem, keys)


def _load_dotted(name: str) -> LoadedAgent | None:
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
    modules = [_import_module(name, folder)]
    if _agent_of(modules[0]) is None and (folder / f"{_MODULE}.py").is_file():
        modules.append(_import_module(f"{name}.{_MODULE}", folder))
    last = name.split(".")[-2:]
    return _read_modules(modules, folder, last[0] if last[-1] == _MODULE else last[-1], keys)


def _import_package(folder: Path) -> ModuleType:
    """Import a folder as a package, under its own name if that name is free."""
    top = folder
    while (top / "__init__.py").is_file() and (top.parent / "__init__.py").is_file():
        top = top.parent
    name = choose_package_name(top.name.replace(".", "_"), top)
    if str(top.parent) not in sys.path:
        sys.path.append(str(top.parent))  # last, so that a neighbour hides no installed package
    if not is_package_of(sys.modules.get(name), top):
        _seed_package(name, top, folder)
    inner = folder.relative_to(top).parts
    return _import_module(".".join((name, *inner)), folder) if inner else sys.modules[name]


def _seed_package(name: str, top: Path, folder: Path) -> None:
    """Import the package of a folder, even if another package of that name is installed."""
    try:
        import_package(name, top)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # boundary: the user's module may raise anything
        raise explain_import(error, folder) from error


def _import_module(name: str, folder: Path) -> ModuleType:
    try:
        return import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # boundary: the user's module may raise anything
        raise explain_import(error, folder) from error


def _add_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _agent_of(module: ModuleType) -> Any:
    """Return the App or else the root agent that a module defines, or None."""
    submodule = getattr(module, _MODULE, None)
    for home in (module, submodule if isinstance(submodule, ModuleType) else None):
        app = getattr(home, "app", None)
        if isinstance(app, App):
            return app
        root = getattr(home, "root_agent", None)
        if root is not None:
            return root
    return None


def _read_modules(
    modules: list[ModuleType], folder: Path, name: str, keys: list[str]
) -> LoadedAgent:
    for module in modules:
        found = _agent_of(module)
        doc = getattr(getattr(module, _MODULE, None), "__doc__", None) or module.__doc__ or ""
        if isinstance(found, App):
            root = as_agent(found.root_agent)
            return LoadedAgent(found, root, found.name, folder, keys, doc=doc)
        if isinstance(found, BaseNode):
            return LoadedAgent(None, as_agent(found), name, folder, keys, doc=doc)
        if found is not None:
            raise wrong_type(found, os.path.relpath(folder))
    raise nothing_to_run(modules, os.path.relpath(folder))


def make_plugins(names: Sequence[str]) -> list[BasePlugin]:
    """Return the plugins that dotted names refer to.

    Args:
      names: dotted names of instances, or of classes, which get `name` as in google-adk.

    Raises:
      SetupError: a name cannot be imported, or does not refer to a plugin.
    """
    return [_make_plugin(name) for name in names]


def _make_plugin(name: str) -> BasePlugin:
    module, _, attribute = name.rpartition(".")
    try:
        found: Any = getattr(import_module(module), attribute)
        if isinstance(found, type) and issubclass(found, BasePlugin):
            found = found(name=name)
    except Exception as error:  # boundary: the plugin is the user's code
        raise SetupError(
            f"The plugin {name!r} cannot be created: {type(error).__name__}: {error}. Name a class "
            "or an instance, such as my_package.plugins.MyPlugin."
        ) from error
    if not isinstance(found, BasePlugin):
        raise SetupError(f"{name!r} is not a plugin; its class has to derive from BasePlugin.")
    return found
