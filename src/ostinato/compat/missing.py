"""What is said when an ADK program imports what Ostinato does not have. For the alias's finder."""

from __future__ import annotations

import difflib
import re
import sys
from pkgutil import iter_modules
from types import ModuleType

_CANNOT = re.compile(r"cannot import name '(\w+)' from")
_LATER = {
    "a2a": "Serving and calling agents over A2A",
    "evaluation": "Evaluation",
    "integrations": "This integration",
    "labs": "google-adk's labs",
    "optimization": "Optimization",
    "platform": "google-adk's platform layer",
    "skills": "Skills",
}


def missing_module(alias: str, target: str) -> ModuleNotFoundError:
    """Return the error for a module of google-adk that is not here.

    Args:
      alias: the name that was asked for, below `google.adk`.
      target: the name that it would have below `ostinato`.
    """
    package, _, last = target.rpartition(".")
    parent = sys.modules[package]
    found = [item.name for item in iter_modules(getattr(parent, "__path__", ()))]
    modules = [name for name in found if not name.startswith("_")]
    return _error(alias, f"Ostinato has no module {alias}.", last, modules, parent)


def missing_name(alias: str, package: ModuleType, name: str) -> ModuleNotFoundError:
    """Return the error for a name that a package of google-adk has and ours does not.

    Args:
      alias: the package's name below `google.adk`.
      package: the package.
      name: the name that was asked for.
    """
    return _error(f"{alias}.{name}", f"Ostinato has no {name} in {alias}.", name, [], package)


def missing_genai(name: str) -> ModuleNotFoundError:
    """Return the error for a module of google-genai other than `types`."""
    return ModuleNotFoundError(
        f"{name} is part of google-genai, which is not installed. Without it only "
        "google.genai.types is there (it is ostinato.types). Install it with: "
        "pip install google-genai",
        name=name,
    )


def _error(
    asked: str, problem: str, last: str, modules: list[str], package: ModuleType
) -> ModuleNotFoundError:
    room = asked.split(".")[2]
    near = _near(last, modules, package)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif any(part.startswith("_") for part in asked.split(".")):
        advice = (
            "It is a private name of google-adk; write it with public ones, such as those of "
            f"{_alias_of(package)}: {', '.join(_public(package))}."
        )
    elif room in _LATER:
        advice = f"{_LATER[room]} is not part of this version; leave the import out."
    else:
        advice = (
            f"{_alias_of(package)} has: {', '.join(_public(package))}. What is not in google-adk "
            "2.3.0's public modules, or not here yet, is listed on the page docs/from-adk.md."
        )
    return ModuleNotFoundError(f"{problem} {advice}", name=asked)


def explain(error: ImportError) -> str | None:
    """Return what to write instead for an import that failed; None for one that is not ADK's.

    Python words `from module import name` itself where the module is no package, so that case
    is read from its words.
    """
    home = error.name or ""
    if home.startswith(("google.adk", "google.genai")):
        return str(error)
    asked = _CANNOT.match(str(error))
    if asked is None or home.partition(".")[0] != "ostinato" or home not in sys.modules:
        return None
    return str(missing_name(_alias_of(sys.modules[home]), sys.modules[home], asked[1]))


def _near(last: str, modules: list[str], package: ModuleType) -> list[str]:
    names = dict.fromkeys([*modules, *(name for name in dir(package) if not name.startswith("_"))])
    return difflib.get_close_matches(last.lstrip("_"), names, 3, 0.7)


def _alias_of(package: ModuleType) -> str:
    return "google.adk" + package.__name__.removeprefix("ostinato")


def _public(package: ModuleType) -> list[str]:
    """Return what a module offers: its face's list, or the classes and functions it defines."""
    listed: list[str] = sorted(getattr(package, "__all__", ()))
    return listed or [
        name
        for name, value in sorted(vars(package).items())
        if not name.startswith("_") and getattr(value, "__module__", "") == package.__name__
    ]
