"""Lazy faces: a module names what it offers in one `if TYPE_CHECKING:` block and nowhere else.

`attach` makes the module's `__getattr__`, `__dir__` and `__all__` of that block's source text.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from linecache import getlines
from typing import Any

Face = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]

_BLOCK = re.compile(r"^if TYPE_CHECKING:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]+from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def read_names(source: str, package: str) -> dict[str, tuple[str, str]]:
    """Map each public name of the source's TYPE_CHECKING block to its (module, attribute)."""
    homes: dict[str, tuple[str, str]] = {}
    if block := _BLOCK.search(source + "\n"):
        for module, names in _IMPORT.findall(_COMMENT.sub("", block[1])):
            for item in filter(str.strip, names.strip("() \t").split(",")):
                original, *alias = item.split()[::2]  # "name" or "name as alias"
                homes[alias[0] if alias else original] = (resolve_name(module, package), original)
    return homes


def attach(name: str, *, fallback: str | None = None) -> Face:
    """Return `__getattr__`, `__dir__`, `__all__`; `fallback` is asked for unlisted names."""
    module = sys.modules[name]
    source = "".join(getlines(module.__file__ or "", vars(module)))  # reads zipped modules too
    homes = read_names(source, module.__package__ or name)

    def load(attribute: str) -> Any:
        if attribute in homes:
            home, original = homes[attribute]
            value = getattr(import_module(home), original)
        elif not attribute.startswith("_") and _is_submodule(module, attribute):
            return import_module(f"{name}.{attribute}")
        elif fallback is None or attribute.startswith("_"):
            # With both, Python says itself which name was meant.
            problem = f"module {name!r} has no attribute {attribute!r}"
            raise AttributeError(problem, name=attribute, obj=module)
        else:
            value = _borrow(module, fallback, attribute)
        setattr(module, attribute, value)
        return value

    return load, lambda: sorted({*vars(module), *homes}), list(homes)


def load(path: str) -> Any:
    """Return what `module:name` means; for the few places that cannot import what stands above."""
    home, _, name = path.partition(":")
    return getattr(import_module(home), name)


def _is_submodule(package: Any, name: str) -> bool:
    """True for a module of a package; google-adk's have loaded theirs, so programs write
    `adk.agents.Agent` after `import google.adk as adk`."""
    path = getattr(package, "__path__", None)
    return path is not None and PathFinder.find_spec(f"{package.__name__}.{name}", path) is not None


def _borrow(module: Any, fallback: str, attribute: str) -> Any:
    try:
        other = import_module(fallback)
    except ImportError as error:
        raise AttributeError(f"no {attribute!r} here, and {fallback} is not installed") from error
    # Under an alias the fallback can be this very module; asking it again would never end.
    if other is module or not hasattr(other, attribute):
        raise AttributeError(f"neither {module.__name__} nor {fallback} has {attribute!r}")
    return getattr(other, attribute)
