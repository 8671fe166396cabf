"""Dotted names in files: which code they may name, and the import of it. Used by `reading`.

A file is data, and may come from people who may not write code. So what it names has to lie in the
agent's own package, in Ostinato, or in a module that the host allows; anything else is refused
before it is imported.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

_OWN, _ALIAS = "ostinato", "google.adk"


class CodeNameError(Exception):
    """A dotted name that leads to nothing, or to code that is not allowed; says which and why."""


@dataclass(frozen=True, slots=True)
class CodeRules:
    """Which code the files of one agent may name.

    Attributes:
      folder: name of the agent's folder, with which its own names begin.
      package: name under which that folder is imported; empty where names are not restricted.
      allowed: further modules, with all below them.
    """

    folder: str = ""
    package: str = ""
    allowed: tuple[str, ...] = ()

    def module_of(self, module: str) -> str:
        """Return under which name a module is imported here.

        Raises:
          CodeNameError: files may not name its code.
        """
        if _within(module, _ALIAS):
            module = _OWN + module.removeprefix(_ALIAS)
        elif self.folder and _within(module, self.folder):
            module = self.package + module.removeprefix(self.folder)
        if not self.package:
            return module
        if _within(module, _OWN):
            if any(part.startswith("_") for part in module.split(".")):
                raise CodeNameError(f"{module!r} is no public module of Ostinato.")
            return module
        homes = (self.package.partition(".")[0], *self.allowed)
        if any(_within(module, home) for home in homes):
            return module
        top = module.partition(".")[0]
        more = "." if top in sys.stdlib_module_names else f", or allow it: --allow-code-from {top}"
        raise CodeNameError(
            f"the module {module!r} is not one whose code a file may name: those are the agent's "
            f"own package {self.folder!r}, ostinato, and what the host allows. Call it in a "
            f"function of the agent's own{more}"
        )

    def resolve(self, name: str) -> Any:
        """Import and return what a dotted name names.

        Raises:
          CodeNameError: it is nothing, may not be named, or its module cannot be imported.
        """
        dotted, _, attribute = name.rpartition(".")
        if not dotted or not all(part.isidentifier() for part in name.split(".")):
            raise CodeNameError(
                f"{name!r} is no dotted name; write the module and the name in it, such as "
                "my_agent.tools.look_up."
            )
        wanted = self.module_of(dotted)
        module = _imported(wanted, name)
        try:
            value = getattr(module, attribute)
        except AttributeError as error:
            raise CodeNameError(
                f"{name!r} does not exist: the module {wanted!r} has no {attribute!r}."
                f"{_alike(attribute, dir(module))}"
            ) from error
        if self.package and _is_foreign(value, self.allowed):
            raise CodeNameError(
                f"{name!r} is {_home(value)}, which {wanted!r} only imports. A file may not name "
                "modules, nor code of Python's standard library; call it in a function of the "
                "agent's own."
            )
        return value


def _within(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


def _imported(module: str, name: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not _within(module, missing):
            raise CodeNameError(
                f"{name!r} cannot be imported: {module!r} imports {missing!r}, which is not "
                "installed."
            ) from error
        raise CodeNameError(
            f"{name!r} cannot be imported: there is no module {missing!r}. Names begin with the "
            "agent's folder, such as my_agent.tools.look_up."
        ) from error
    except Exception as error:  # boundary: whatever the user's module raises, the author is told
        raise CodeNameError(
            f"{name!r} cannot be imported: {module!r} raised {type(error).__name__}: {error}"
        ) from error


def _alike(name: str, there: list[str]) -> str:
    near = difflib.get_close_matches(name, [one for one in there if not one.startswith("_")], 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _home(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"{value.__module__}.{value.__qualname__}"


def _is_foreign(value: Any, allowed: tuple[str, ...]) -> bool:
    """Tell whether a function or class came from Python itself, such as `system` of os."""
    if not (inspect.isroutine(value) or inspect.isclass(value)):
        return isinstance(value, ModuleType)
    home = getattr(value, "__module__", None) or ""
    if any(_within(home, one) for one in allowed):
        return False
    return home.partition(".")[0] in sys.stdlib_module_names
