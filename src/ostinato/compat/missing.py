"""Errors for imports of google-adk names that Ostinato does not have."""

from __future__ import annotations

import difflib
import re
import sys
from pkgutil import iter_modules
from types import ModuleType

from .._absences import absence_error

_CANNOT = re.compile(r"cannot import name '(\w+)' from")


def missing_module(alias: str, target: str) -> ModuleNotFoundError:
    """Return the error for a module of google-adk that is not here.

    Args:
      alias: the name that was asked for, below `google.adk`.
      target: the name that it would have below `ostinato`.
    """
    absent = absence_error(target.partition(".")[2])
    if absent is not None:
        return absent
    package, _, last = target.rpartition(".")
    parent = sys.modules[package]
    found = [item.name for item in iter_modules(getattr(parent, "__path__", ()))]
    modules = [name for name in found if not name.startswith("_")]
    return _make_error(alias, f"Ostinato has no module {alias}.", last, modules, parent)


def missing_name(alias: str, package: ModuleType, name: str) -> ModuleNotFoundError:
    """Return the error for a name that a package of google-adk has and ours does not.

    Args:
      alias: the package's name below `google.adk`.
      package: the package.
      name: the name that was asked for.
    """
    absent = absence_error(package.__name__.partition(".")[2], name)
    return absent or _make_error(
        f"{alias}.{name}", f"Ostinato has no {name} in {alias}.", name, [], package
    )


def missing_genai(name: str) -> ModuleNotFoundError:
    """Return the error for a module of google-genai other than `types`."""
    return ModuleNotFoundError(
        f"{name} is part of google-genai, which is not installed. Without it only "
        "google.genai.types is there (it is ostinato.types). Install it with: "
        "pip install google-genai",
        name=name,
    )


def _make_error(
    asked: str, problem: str, last: str, modules: list[str], package: ModuleType
) -> ModuleNotFoundError:
    near = _suggest_names(last, modules, package)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif any(part.startswith("_") for part in asked.split(".")):
        advice = (
            "It is a private name of google-adk; write it with public ones, such as those of "
            f"{_alias_of(package)}: {', '.join(_public_names(package))}."
        )
    else:
        advice = (
            f"{_alias_of(package)} has: {', '.join(_public_names(package))}. docs/from-adk.md "
            "lists what is not in google-adk 2.3.0's public modules, or not here yet."
        )
    return ModuleNotFoundError(f"{problem} {advice}", name=asked)


def explain(error: ImportError) -> str | None:
    """Return what to write instead for an import that failed; None for one that is not ADK's.

    Python raises its own error for `from module import name`, so that case is parsed from its
    message.
    """
    home = error.name or ""
    if home.startswith(("google.adk", "google.genai")):
        return str(error)
    asked = _CANNOT.match(str(error))
    if asked is None or home.partition(".")[0] != "ostinato" or home not in sys.modules:
        return None
    return str(missing_name(_alias_of(sys.modules[home]), sys.modules[home], asked[1]))


def _suggest_names(last: str, modules: list[str], package: ModuleType) -> list[str]:
    names = dict.fromkeys([*modules, *(name for name in dir(package) if not name.startswith("_"))])
    return difflib.get_close_matches(last.lstrip("_"), names, 3, 0.7)


def _alias_of(package: ModuleType) -> str:
    return "google.adk" + package.__name__.removeprefix("ostinato")


def _public_names(package: ModuleType) -> list[str]:
    """Return what a module offers: its face's list, or the classes and functions it defines."""
    listed: list[str] = sorted(getattr(package, "__all__", ()))
    return listed or [
        name
        for name, value in sorted(vars(package).items())
        if not name.startswith("_") and getattr(value, "__module__", "") == package.__name__
    ]
