"""Equality and `isinstance` of google-genai's records, which take Ostinato's for their own."""

from __future__ import annotations

import sys
from functools import wraps
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from .. import types
from ..types.like_named import GENAI_TYPES, Record


class TeachingLoader(Loader):
    """Loads `google.genai.types` with its own loader, then patches its records.

    Args:
      loader: the module's own loader, which it keeps.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then patch its records."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        teach_loaded_records()


def teach_loaded_records() -> None:
    """Let google-genai's records, if loaded, take Ostinato's for their own.

    `theirs == ours` and `isinstance(ours, theirs)` work from then on.
    """
    base = _find_base()
    if base is None or base.__eq__.__module__ == __name__:
        return
    compare = base.__eq__

    @wraps(compare, assigned=())
    def equals(self: Any, other: object) -> bool:
        return other == self if isinstance(other, Record) else compare(self, other)

    base.__eq__ = equals
    for kind in _find_shared_kinds():
        kind.__class__ = _RecordMeta


def unteach_records() -> None:
    """Undo `teach_loaded_records`."""
    base = _find_base()
    if base is not None and base.__eq__.__module__ == __name__:
        base.__eq__ = base.__eq__.__wrapped__
        for kind in _find_shared_kinds():
            kind.__class__ = type(BaseModel)


class _RecordMeta(type(BaseModel)):
    """The class of google-genai's records: Ostinato's records of their names are instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether an object is a record of this class, or Ostinato's of its name."""
        if type.__instancecheck__(cls, instance):
            return True
        if not isinstance(instance, Record) or cls.__module__ != GENAI_TYPES:
            return False
        return any(kind.__name__ == cls.__name__ for kind in type(instance).__mro__)


def _find_shared_kinds() -> list[Any]:
    """Return the records of google-genai that Ostinato has, too."""
    return [
        kind
        for name, kind in vars(sys.modules[GENAI_TYPES]).items()
        if isinstance(kind, type(BaseModel)) and isinstance(getattr(types, name, None), type)
    ]


def _find_base() -> Any:
    """Return the base class of google-genai's records; None if they are not loaded."""
    content = getattr(sys.modules.get(GENAI_TYPES), "Content", None)
    if not isinstance(content, type) or issubclass(content, Record):
        return None
    return content.__bases__[0]
