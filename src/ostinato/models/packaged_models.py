"""Model classes of installed packages: the entry points of the group `ostinato.models`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ..errors import AgentConfigError
from .base_llm import BaseLlm
from .providers import behind_class_name

#: Entry points of packages that bring models: each names a subclass of BaseLlm.
GROUP = "ostinato.models"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model class of an installed package.

    Attributes:
      prefix: what may stand in front of `:` in a model's name.
      home: the class, as "module:Class".
      package: the package that brings it, or '' if unknown.
      names: regular expressions of the names that it serves without the prefix.
      problem: why the class cannot be used, or ''.
    """

    prefix: str
    home: str
    package: str
    names: tuple[str, ...] = ()
    problem: str = ""


def list_packaged_models() -> list[PackagedModel]:
    """Return the model classes of installed packages, with what is wrong with them."""
    found: list[PackagedModel] = []
    for entry in _list_entries():
        names, problem = (), ""
        try:
            names = tuple(read_patterns(_load_class(entry)))
        except AgentConfigError as error:
            problem = str(error)
        prefix = entry.attr.rpartition(".")[2].lower().removesuffix("llm") or entry.name
        package = entry.dist.name if entry.dist is not None else ""
        found.append(PackagedModel(prefix, entry.value, package, names, problem))
    return found


def list_entry_names() -> list[str]:
    """Return the names of the entry points; no class is imported."""
    return [entry.name for entry in _list_entries()]


def find_packaged_class(model: str) -> type[BaseLlm] | None:
    """Return the class of an installed package that serves a name, or None.

    Called only for names that are otherwise unknown, because searching all packages is slow.

    Raises:
      AgentConfigError: an entry point cannot be used.
    """
    for entry in _list_entries():
        llm_cls = _load_class(entry)
        patterns = read_patterns(llm_cls)
        is_prefix = behind_class_name(model, llm_cls.__name__) is not None
        if is_prefix or any(re.fullmatch(pattern, model) for pattern in patterns):
            return llm_cls
    return None


def read_patterns(llm_cls: type[BaseLlm]) -> list[str]:
    """Return the patterns of the names that a class serves.

    Raises:
      AgentConfigError: there are none, or one is not a regular expression.
    """
    patterns = llm_cls.supported_models()
    if not patterns:
        raise AgentConfigError(
            f"{llm_cls.__name__}.supported_models() is empty; return the patterns of the model "
            "names it serves"
        )
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise AgentConfigError(
                f"{llm_cls.__name__}.supported_models() holds {pattern!r}, which is not a "
                f"regular expression: {error}"
            ) from error
    return patterns


def _list_entries() -> Iterator[EntryPoint]:
    return iter(entry_points(group=GROUP))


def _load_class(entry: EntryPoint) -> type[BaseLlm]:
    """Import the class of an entry point.

    Raises:
      AgentConfigError: it cannot be imported, or is not a subclass of BaseLlm.
    """
    said = f"The entry point {entry.name!r} of {GROUP!r} is {entry.value!r}, which"
    try:
        llm_cls: Any = entry.load()
    except Exception as error:  # boundary: code of another package
        raise AgentConfigError(
            f"{said} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(llm_cls, type) and issubclass(llm_cls, BaseLlm)):
        raise AgentConfigError(f"{said} is not a subclass of BaseLlm")
    return llm_cls
