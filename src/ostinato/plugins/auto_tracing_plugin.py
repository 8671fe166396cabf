"""AutoTracingPlugin: an OpenTelemetry span for each call of a program's own functions."""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
from collections.abc import Iterable
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from .. import types
from .._optional import need
from ..context.invocation import InvocationContext
from .auto_tracing_helpers import (
    DEFAULT_MAX_RECORDED_YIELDS,
    DEFAULT_MAX_REPR_LEN,
    WRAPPED_ATTR,
    Caps,
    build_tracing_wrapper,
    tracer_will_record,
)
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

DEFAULT_MAX_WALK_DEPTH = 30
_MAX_OBJECTS = 20_000
_LEAVES = (str, bytes, int, float, complex, bool, type(None), ModuleType)
# Never traced unless `extra_scope_prefixes` names them: what runs the program.
_RUNTIMES = ("ostinato", "google", "opentelemetry")
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


class AutoTracingPlugin(BasePlugin):
    """Wraps the functions of a program's packages, so that each call makes a span.

    At each run it looks at what the root agent holds (tools, callbacks, sub-agents and their
    fields) and takes the packages that these come from. Their public functions and the methods of
    their classes are replaced in their modules by wrappers, for the rest of the process. Spans
    carry arguments and result as `adk.fn.*`, bounded and without what looks like a secret.
    Packages of the standard library, installed ones and Ostinato itself are left alone.

    Args:
      name: unique among an app's plugins.
      extra_scope_prefixes: beginnings of the names of further modules to trace.
      tracer: makes the spans; by default, one of OpenTelemetry's provider. Without an SDK that
        records nothing is wrapped.
      max_repr_len: the most characters of one value.
      max_recorded_yields: the most values of one generator.
      max_walk_depth: how far from the root agent to look.

    Raises:
      MissingExtraError: OpenTelemetry is not installed.
    """

    def __init__(
        self,
        *,
        name: str = "AutoTracingPlugin",
        extra_scope_prefixes: Iterable[str] = (),
        tracer: Tracer | None = None,
        max_repr_len: int = DEFAULT_MAX_REPR_LEN,
        max_recorded_yields: int = DEFAULT_MAX_RECORDED_YIELDS,
        max_walk_depth: int = DEFAULT_MAX_WALK_DEPTH,
    ) -> None:
        super().__init__(name)
        self._extra = tuple(extra_scope_prefixes)
        self._tracer = tracer or need("opentelemetry.trace", extra="otel").get_tracer(__name__)
        self._caps = Caps(max_repr_len, max_recorded_yields)
        self._depth = max_walk_depth
        self._wrappers: dict[FunctionType, Any] = {}
        self._lock = threading.Lock()

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Wrap the functions that are not wrapped yet; the run continues."""
        if not tracer_will_record(self._tracer):
            return None
        agent: Any = invocation_context.agent
        packages = _list_packages(getattr(agent, "root_agent", agent), self._depth)
        with self._lock:
            modules = {
                name: module
                for name, module in list(sys.modules.items())
                if _is_in(name, packages) or name.startswith(self._extra)
            }
            for module in modules.values():
                self._wrap_module(module, modules)
        return None

    def _wrap_module(self, module: ModuleType, modules: dict[str, ModuleType]) -> None:
        """Wrap a module's functions, also those imported from another one, and its methods."""
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType):
                if not name.startswith("_") and value.__module__ in modules:
                    setattr(module, name, self._wrap(value))
            elif isinstance(value, type) and value.__module__ == module.__name__:
                self._wrap_methods(value)

    def _wrap_methods(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            if name.startswith("__"):
                continue
            if isinstance(value, FunctionType):
                setattr(cls, name, self._wrap(value))
            elif isinstance(value, (staticmethod, classmethod)):
                kind = cast("type[staticmethod[..., Any]]", type(cast("Any", value)))
                inner: Any = cast("Any", value).__func__
                if isinstance(inner, FunctionType) and not hasattr(inner, WRAPPED_ATTR):
                    setattr(cls, name, kind(self._wrap(inner)))

    def _wrap(self, fn: FunctionType) -> Any:
        """Return the one wrapper of a function; a wrapper itself stays."""
        if hasattr(fn, WRAPPED_ATTR):
            return fn
        if fn not in self._wrappers:
            self._wrappers[fn] = build_tracing_wrapper(fn, self._tracer, self._caps)
        return self._wrappers[fn]


def _is_in(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _list_packages(root: Any, depth: int) -> set[str]:
    """Return the packages of the objects that an object holds, and of itself."""
    packages: set[str] = set()
    seen: set[int] = set()
    level = [root]
    for _ in range(depth + 1):
        following: list[Any] = []
        for value in level:
            if id(value) in seen or isinstance(value, _LEAVES) or len(seen) > _MAX_OBJECTS:
                continue
            seen.add(id(value))
            home: Any = value if isinstance(value, (type, FunctionType)) else type(value)
            module: Any = getattr(home, "__module__", None)
            if isinstance(module, str) and _is_of_program(module):
                packages.add(module.rpartition(".")[0] or module)
            following += _held_by(value)
        level = following
    return packages


def _held_by(value: Any) -> list[Any]:
    """Return what an object holds: items, fields, and the parts of a bound or partial function."""
    if isinstance(value, dict):
        return [*cast("dict[Any, Any]", value).values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [*cast("Iterable[Any]", value)]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, functools.partial):
        whole = cast("functools.partial[Any]", value)
        return [whole.func, *whole.args, *whole.keywords.values()]
    if isinstance(value, FunctionType):
        return [*vars(value).values()]  # what a decorator wraps is one of them
    if isinstance(value, type):
        return []
    return [*getattr(value, "__dict__", {}).values()]


@functools.cache
def _is_of_program(module: str) -> bool:
    """Return whether a module is the user's own: neither of Python nor installed nor a runtime."""
    top = module.partition(".")[0]
    if (top in sys.stdlib_module_names and top != "__main__") or top in _RUNTIMES:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return not (file and file.startswith(_INSTALLED))
