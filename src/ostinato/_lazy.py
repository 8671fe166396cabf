"""Lazy faces: a module names what it offers in one `if TYPE_CHECKING:` block and nowhere else.

`attach` derives the module's `__getattr__`, `__dir__` and `__all__` from that block's source. Every
package face calls it; it is one of the three places that import late.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from typing import Any, cast

_BLOCK = re.compile(r"^if TYPE_CHECKING:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]+from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def read_names(source: str, package: str) -> dict[str, tuple[str, str]]:
    """Map each public name of the source's TYPE_CHECKING block to its (module, attribute)."""
    homes: dict[str, tuple[str, str]] = {}
    if block := _BLOCK.search(source + "\n"):
        for module, names in _IMPORT.findall(_COMMENT.sub("", block[1])):
            for item in names.strip("() \t").split(","):
                attribute, *alias = item.split(" as ")
                if attribute := attribute.strip():
                    homes[alias[0].strip() if alias else attribute] = (
                        resolve_name(module, package),
                        attribute,
                    )
    return homes


def attach(
    name: str, *, fallback: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `(__getattr__, __dir__, __all__)` for the module `name`, which calls it in its body.

    Public names that the block lacks are asked of the module `fallback`. A name found is stored
    in the module, so it is looked up once; an unknown one raises AttributeError.
    """
    module = sys.modules[name]
    source = cast(Any, module.__spec__).loader.get_source(name)
    homes = read_names(source or "", module.__package__ or name)

    def load(attribute: str) -> Any:
        if attribute in homes:
            home, original = homes[attribute]
            value = getattr(import_module(home), original)
        elif fallback is None or attribute.startswith("_"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        else:
            value = _borrow(module, fallback, attribute)
        setattr(module, attribute, value)
        return value

    return load, lambda: sorted({*vars(module), *homes}), list(homes)


def _borrow(module: Any, fallback: str, attribute: str) -> Any:
    wanted = f"{module.__name__} has no {attribute!r}"
    try:
        other = import_module(fallback)
    except ImportError as error:
        raise AttributeError(f"{wanted}; {fallback}, which may, is not installed") from error
    # Under an alias the fallback can be this very module; asking it again would never end.
    if other is module or not hasattr(other, attribute):
        raise AttributeError(f"{wanted}, nor has {fallback}")
    return getattr(other, attribute)
