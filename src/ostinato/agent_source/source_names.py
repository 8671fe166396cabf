"""Imports and variable names of a generated program."""

from __future__ import annotations

import builtins
import keyword
from collections import defaultdict
from dataclasses import dataclass, field

from ..agent_files.code_names import CodeRules
from .layout import WIDTH


def _list_reserved() -> set[str]:
    return {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "root_agent"}


@dataclass(slots=True)
class Names:
    """The names of one program.

    Attributes:
      rules: what dotted names of the files mean.
      relative: whether the program lies in the agent's folder, whose modules are `.tools` to it.
    """

    rules: CodeRules
    relative: bool = True
    _imports: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _taken: set[str] = field(default_factory=_list_reserved)
    _variables: set[str] = field(default_factory=set[str])

    def import_name(self, module: str, name: str) -> str:
        """Import a name, and return its name in the program."""
        known = self._imports.get((module, name))
        if known is not None:
            return known
        alias = name
        parts = [part for part in module.split(".") if part]
        while alias in self._taken:
            alias = f"{parts.pop()}_{alias}" if parts else self._number_name(name)
        self._taken.add(alias)
        self._imports[module, name] = alias
        return alias

    def use_dotted(self, dotted: str) -> str:
        """Import the object of a dotted name, and return its name in the program.

        Raises:
          CodeNameError: files may not name it.
        """
        return self.use_found(*self.rules.locate(dotted))

    def use_found(self, module: str, name: str) -> str:
        """Import a name of a loaded module, and return its name in the program."""
        package = self.rules.package
        if module == package or module.startswith(f"{package}."):
            rest = module.removeprefix(package)
            module = (rest or ".") if self.relative else f"{self.rules.folder}{rest}"
        return self.import_name(module, name)

    def add_variable(self, wanted: str) -> str:
        """Return a new variable name: the wanted one, if it is free."""
        name = wanted
        if name in self._taken and name not in self._variables:
            name = f"{wanted}_agent"
        if name in self._taken:
            name = self._number_name(wanted)
        self._taken.add(name)
        self._variables.add(name)
        return name

    def import_lines(self) -> list[str]:
        """Return the import statements, in groups and in the order that isort gives them."""
        modules: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for (module, name), alias in self._imports.items():
            modules[module].append((name, alias))
        groups: dict[int, list[str]] = {0: [], 1: [], 2: []}
        for module in sorted(modules, key=lambda one: (one.startswith("."), one)):
            group = 2 if module.startswith(".") else 0 if module in ("pathlib",) else 1
            groups[group] += _import_statements(module, modules[module])
        found = [lines for lines in groups.values() if lines]
        return [line for lines in found for line in ([] if lines is found[0] else [""]) + lines]

    def _number_name(self, wanted: str) -> str:
        number = 2
        while f"{wanted}_{number}" in self._taken:
            number += 1
        return f"{wanted}_{number}"


def _import_statements(module: str, names: list[tuple[str, str]]) -> list[str]:
    plain = sorted((name for name, alias in names if name == alias), key=_sort_key)
    found: list[str] = []
    if plain:
        flat = f"from {module} import {', '.join(plain)}"
        if len(flat) <= WIDTH:
            found.append(flat)
        else:
            found += [f"from {module} import (", *(f"    {one}," for one in plain), ")"]
    renamed = sorted(one for one in names if one[0] != one[1])
    return [*found, *(f"from {module} import {name} as {alias}" for name, alias in renamed)]


def _sort_key(name: str) -> tuple[int, str]:
    """Constants, classes, others: as isort sorts members."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name
