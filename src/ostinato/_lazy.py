"""Lazy faces: a module names what it offers in one `if TYPE_CHECKING:` block and nowhere else.

`attach` makes the module's `__getattr__`, `__dir__` and `__all__` from that block. It reads the
block in the module's code object, so that a face also works from bytecode alone.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from inspect import currentframe
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

Face = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


class Home(NamedTuple):
    """Where a public name of a face comes from: its module, and its name there."""

    module: str
    name: str


class _Named:
    """Stands for a module that is imported from: each of its names is a `Home`."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Home:
        return Home(self._module, name)


class _Whole:
    """Stands for a module that is imported whole, as pytest adds one to what it rewrites."""

    def __getattr__(self, name: str) -> "_Whole":
        return self


def _attach_nothing(name: str, *, fallback: str | None = None) -> tuple[None, None, None]:
    return None, None, None


# What a face imports in order to be one, while its names are read.
_OWN_IMPORTS = {
    "typing": SimpleNamespace(TYPE_CHECKING=True),
    __name__: SimpleNamespace(attach=_attach_nothing),
}


def read_names(code: CodeType, package: str) -> dict[str, Home]:
    """Return where each public name of a face's TYPE_CHECKING block comes from.

    The code runs once more, with an `import` that loads nothing and notes what it is asked for.
    """

    def note(name: str, _globals: Any, _locals: Any, imported: Any, level: int) -> Any:
        module = resolve_name("." * level + name, package)
        return _OWN_IMPORTS.get(module) or (_Named(module) if imported else _Whole())

    names: dict[str, Any] = {
        "__name__": package,
        "__builtins__": {"__import__": note},
    }
    exec(code, names)
    return {name: home for name, home in names.items() if isinstance(home, Home)}


def attach(name: str, *, fallback: str | None = None) -> Face:
    """Return `__getattr__`, `__dir__`, `__all__`; `fallback` is asked for unlisted names."""
    module = sys.modules[name]
    frame = currentframe()
    assert frame is not None and frame.f_back is not None
    homes = read_names(frame.f_back.f_code, module.__package__ or name)

    def load(attribute: str) -> Any:
        if attribute in homes:
            home, original = homes[attribute]
            value = getattr(import_module(home), original)
        elif not attribute.startswith("_") and _is_submodule(module, attribute):
            return import_module(f"{name}.{attribute}")
        elif fallback is None or attribute.startswith("_"):
            # With both, Python says itself which name was meant.
            problem = f"module {name!r} has no attribute {attribute!r}"
            missing = AttributeError(problem, name=attribute, obj=module)
            raise _absence(name, attribute) or missing
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


def _absence(package: str, name: str) -> ImportError | None:
    """Return the error for a name that google-adk's package has and ours has not."""
    home, _, place = package.partition(".")
    if home != "ostinato" or name.startswith("_"):
        return None
    return load("ostinato._absences:absence_error")(place, name)


def _borrow(module: Any, fallback: str, attribute: str) -> Any:
    try:
        other = import_module(fallback)
    except ImportError as error:
        raise AttributeError(f"no {attribute!r} here, and {fallback} is not installed") from error
    # Under an alias the fallback can be this very module; asking it again would never end.
    if other is module or not hasattr(other, attribute):
        raise AttributeError(f"neither {module.__name__} nor {fallback} has {attribute!r}")
    return getattr(other, attribute)
