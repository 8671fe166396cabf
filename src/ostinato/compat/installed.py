"""Lookup of really installed `google` packages, without the alias's finder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

_OWN = str(Path(__file__).parent / "path")


def find_elsewhere(name: str, path: Sequence[str] | None, without: Any) -> ModuleSpec | None:
    """Return the spec that the other finders have for a module, or None.

    Args:
      name: dotted name.
      path: the parent package's `__path__`; None for a top-level name.
      without: the finder that is not asked.
    """
    for finder in list(sys.meta_path):
        find = None if finder is without else getattr(finder, "find_spec", None)
        spec = find(name, path, None) if find is not None else None
        if spec is not None and not _is_own(spec):
            return spec
    return None


def place_of_adk(without: Any) -> str | None:
    """Return where google-adk is installed, or None."""
    spec = _below_google("google.adk", without)
    if spec is None:
        return None
    return spec.origin or ", ".join(spec.submodule_search_locations or ())


def child_folders(without: Any) -> list[str]:
    """Return the folders that provide google.adk, and google.genai if it is not installed."""
    folders = ["adk"] if _below_google("google.genai", without) else ["adk", "genai"]
    return [f"{_OWN}/{name}" for name in folders]


def _below_google(name: str, without: Any) -> ModuleSpec | None:
    google: Any = sys.modules.get("google") or find_elsewhere("google", None, without)
    path = getattr(google, "__path__", None) or getattr(google, "submodule_search_locations", None)
    return find_elsewhere(name, list(path), without) if path else None


def _is_own(spec: ModuleSpec) -> bool:
    """True for the packages below `path/`, which stand in for google-adk in child processes."""
    return (spec.origin or "").startswith(_OWN)
