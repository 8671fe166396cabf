"""Lazy faces: a module names what it offers in one `if TYPE_CHECKING:` block and nowhere else.

`attach` reads that block from the module's own source and returns its `__getattr__`, `__dir__` and
`__all__`. Every package face calls it; it is one of the three places that import late.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from typing import Any

_BLOCK = re.compile(r"^if TYPE_CHECKING:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]+from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def read_names(source: str, package: str) -> dict[str, tuple[str, str]]:
    """Map each public name of the TYPE_CHECKING block to its home: (module, attribute)."""
    homes: dict[str, tuple[str, str]] = {}
    block = _BLOCK.search(source)
    if block is None:
        return homes
    for module, names in _IMPORT.findall(_COMMENT.sub("", block[1])):
        home = resolve_name(module, package)
        for item in names.strip("() \t").split(","):
            attribute, _, alias = item.strip().partition(" as ")
            if attribute:
                homes[alias.strip() or attribute] = (home, attribute.strip())
    return homes


def attach(
    module_name: str, *, fallback: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `(__getattr__, __dir__, __all__)` for the module that calls it at import time.

    `fallback` names a module that is asked for public names that the block lacks. A name found is
    stored in the module, so it costs its lookup once. Unknown names raise AttributeError.
    """
    module = sys.modules[module_name]
    spec = module.__spec__
    source = spec.loader.get_source(module_name) if spec and spec.loader else None  # type: ignore[attr-defined]
    if source is None:
        raise ImportError(
            f"{module_name} is a lazy face and needs its source file; install a wheel"
        )
    homes = read_names(source, module.__package__ or module_name)

    def load(name: str) -> Any:
        if name in homes:
            home, attribute = homes[name]
            value = getattr(import_module(home), attribute)
        elif fallback is None or name.startswith("_"):
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        else:
            value = _borrow(module_name, fallback, name)
        setattr(module, name, value)
        return value

    return load, lambda: sorted({*vars(module), *homes}), list(homes)


def _borrow(module_name: str, fallback: str, name: str) -> Any:
    try:
        other = import_module(fallback)
    except ImportError as error:
        raise AttributeError(
            f"{module_name} has no {name!r}, and {fallback}, which may, is not installed"
        ) from error
    # Under an alias the fallback can be this very module; asking it again would never end.
    if other is sys.modules[module_name] or not hasattr(other, name):
        raise AttributeError(f"neither {module_name} nor {fallback} has an attribute {name!r}")
    return getattr(other, name)
