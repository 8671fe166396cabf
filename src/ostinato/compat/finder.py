"""Import finder that maps `google.adk...` to the modules of `ostinato...`.

The import system sets the alias's spec on the module; the loader restores the module's own spec at
once, so that relative imports, reload and pickle use its real name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from inspect import currentframe
from opcode import opmap
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..types.like_named import GENAI_TYPES
from .genai_records import TeachingLoader
from .installed import find_elsewhere
from .missing import missing_genai, missing_module, missing_name

ADK = "google.adk"
HOME = "ostinato"
GENAI = "google.genai"
_BOOTSTRAP = "importlib._bootstrap"
STAND_IN = "ostinato.compat.genai"
_GENAI = {GENAI: STAND_IN, GENAI_TYPES: "ostinato.types"}


class _AliasSpec(ModuleSpec):
    """Spec of an alias that leaves the module's relative imports unchanged."""

    target = ""

    @property
    def parent(self) -> str:
        """The package that the module's own name gives."""
        return (
            self.target
            if self.submodule_search_locations is not None
            else _parent_name(self.target)
        )


class _AliasLoader(InspectLoader):
    """Loads a module that exists under another name.

    Args:
      target: the module's own name.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._own: tuple[Any, Any] = (None, None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module under its own name."""
        module = import_module(self._target)
        self._own = (module.__spec__, module.__loader__)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec and loader; its code has already run."""
        module.__spec__, module.__loader__ = self._own

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code: `python -m google.adk...` runs it."""
        loader = self._real_loader()
        return loader.get_code(self._target) if loader is not None else None

    def get_source(self, fullname: str) -> str | None:
        """Return the module's source text."""
        loader = self._real_loader()
        return loader.get_source(self._target) if loader is not None else None

    def is_package(self, fullname: str) -> bool:
        """Return True for a package."""
        loader = self._real_loader()
        return loader is not None and loader.is_package(self._target)

    def _real_loader(self) -> InspectLoader | None:
        spec = find_spec(self._target)
        loader = spec.loader if spec is not None else None
        return loader if isinstance(loader, InspectLoader) else None


class AliasFinder(MetaPathFinder):
    """Finds google.adk, and google and google.genai if they are not installed.

    Args:
      wanted: asked at the first import of `google.adk` or a missing `google.genai`; True to answer
        from then on. Without it the finder answers once `answer` is called.
    """

    def __init__(self, wanted: Callable[[], bool] | None = None) -> None:
        self._wanted = wanted
        self._answers = False
        self._names: list[str] = []

    def answer(self) -> None:
        """Answer from now on."""
        self._answers = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an alias, or None for a name that the finder does not handle.

        Raises:
          ModuleNotFoundError: Ostinato has no such module or name; the message says what to write.
        """
        if fullname.startswith(f"{HOME}."):
            return self._below_home(fullname, path)
        if fullname == "google":
            return self._find_google()
        if fullname == ADK or fullname.startswith(f"{ADK}."):
            return self._find_adk(fullname)
        if fullname == GENAI or fullname.startswith(f"{GENAI}."):
            return self._find_genai(fullname, path)
        return None

    def forget(self) -> None:
        """Stop answering, and remove every alias from `sys.modules`."""
        self._answers, self._wanted = False, None
        for name in reversed(self._names):
            module = sys.modules.pop(name, None)
            parent = sys.modules.get(_parent_name(name))
            last = name.rpartition(".")[2]
            if parent is not None and parent.__name__ in ("google", STAND_IN):
                if vars(parent).get(last) is module and name != GENAI_TYPES:
                    delattr(parent, last)
        self._names.clear()

    def _is_ready(self) -> bool:
        return self._answers or (self._wanted is not None and self._wanted())

    def _find_google(self) -> ModuleSpec | None:
        """Return an empty namespace package `google` unless an installed package has it."""
        if find_elsewhere("google", None, self) is not None:
            return None
        self._names.append("google")
        return ModuleSpec("google", None, is_package=True)

    def _find_adk(self, fullname: str) -> ModuleSpec | None:
        if not self._is_ready():
            return None
        target = HOME + fullname.removeprefix(ADK)
        spec = find_elsewhere(target, _path_of(_parent_name(target)), self)
        if spec is None:
            if _is_only_asking():
                return None
            raise missing_module(fullname, target)
        return self._make_alias(fullname, target, spec)

    def _find_genai(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        ours = getattr(sys.modules.get(GENAI), "__name__", None) == STAND_IN
        if fullname == GENAI_TYPES and not ours and self._answers:
            return self._their_records(path)
        if fullname == GENAI and find_elsewhere(fullname, path, self) is not None:
            return None
        if not (ours or fullname == GENAI) or not self._is_ready():
            return None
        if fullname not in _GENAI:
            raise missing_genai(fullname)
        return self._make_alias(fullname, _GENAI[fullname], find_spec(_GENAI[fullname]))

    def _their_records(self, path: Sequence[str] | None) -> ModuleSpec | None:
        spec = find_elsewhere(GENAI_TYPES, path, self)
        if spec is not None:
            spec.loader = TeachingLoader(spec.loader)
        return spec

    def _make_alias(self, fullname: str, target: str, real: ModuleSpec | None) -> ModuleSpec:
        self._names.append(fullname)
        package = real is not None and real.submodule_search_locations is not None
        spec = _AliasSpec(fullname, _AliasLoader(target), is_package=package)
        spec.target = target
        return spec

    def _below_home(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Explain `from google.adk.x import y` where x is a package and has no y."""
        package = _parent_name(fullname)
        alias = ADK + package.removeprefix(HOME)
        if not self._answers or alias not in sys.modules:
            return None
        spec = find_elsewhere(fullname, path, self)
        if spec is None:
            if not _is_import_statement():
                return None
            raise missing_name(alias, sys.modules[package], fullname.rpartition(".")[2])
        return spec


def _parent_name(name: str) -> str:
    return name.rpartition(".")[0]


def _path_of(package: str) -> list[str] | None:
    """Return a package's `__path__`, importing it; None at the top."""
    return list(getattr(import_module(package), "__path__", ())) if package else None


def _find_importer() -> FrameType | None:
    """Return the frame that imports, outside of the import system."""
    frame = currentframe()
    while frame is not None and frame.f_globals.get("__name__") in (__name__, _BOOTSTRAP):
        frame = frame.f_back
    return frame


def _is_only_asking() -> bool:
    """Return whether `importlib.util.find_spec` asks: Python's answer there is None, no error."""
    frame = _find_importer()
    return frame is not None and frame.f_globals.get("__name__") == find_spec.__module__


def _is_import_statement() -> bool:
    """Return whether a statement imports: `__import__` ignores a name that a package lacks."""
    frame = _find_importer()
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_NAME"]
