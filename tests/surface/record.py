"""Records the public surface of google-adk 2.3.0 as data: every public module of the packages
below with its classes, functions, parameters, fields and members, and the names and methods of
google-genai's types that they use. Only names, kinds and plain default values are kept.

Run it with the interpreter of google-adk's own environment; `--check` compares with what is stored
and changes nothing. The test describes our own modules with the same functions.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import json
import re
import sys
import typing
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = Path(__file__).with_name("surface.json")
WANTED = "2.3.0"
PACKAGES = (
    "agents", "apps", "artifacts", "auth", "code_executors", "errors", "events", "examples",
    "features", "flows", "memory", "models", "planners", "plugins", "runners", "sessions",
    "tools", "utils", "workflow",
)  # fmt: skip

# Integrations: only the names of their modules are recorded.
INTEGRATIONS = (
    "plugins.bigquery_agent_analytics_plugin",
    "tools.agent_simulator", "tools.api_registry", "tools.apihub_tool",
    "tools.application_integration_tool", "tools.bigquery", "tools.bigtable", "tools.computer_use",
    "tools.crewai_tool", "tools.data_agent", "tools.discovery_engine_search_tool",
    "tools.environment", "tools.environment_simulation", "tools.google_api_tool",
    "tools.google_tool", "tools.langchain_tool", "tools.load_mcp_resource_tool", "tools.mcp_tool",
    "tools.openapi_tool", "tools.pubsub", "tools.retrieval", "tools.skill_toolset",
    "tools.spanner", "tools.toolbox_toolset",
)  # fmt: skip

# What stands for a thing that needs a package which is not installed.
UNREAD = "unread"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
KINDS = (type, typing.TypeVar)
NOT_SURFACE = (typing.TypeVar, typing.ParamSpec, ModuleType)
SIMPLE = (bool, int, float, type(None))
# An identifier-like text; sentences are not recorded, only that there is one.
WORD = re.compile(r"[\w./:{}<>-]{0,60}")
Described = dict[str, Any]


def show(value: object) -> str:
    """A default value as text: plain values as they are, others by the name of their kind."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, SIMPLE):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value)) if WORD.fullmatch(value) else "<text>"
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        inner = ", ".join(sorted(map(show, value)))
        return f"{type(value).__name__}({inner})"
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__name__
    if isinstance(value, re.Pattern):
        return "<pattern>"
    return f"<{type(value).__name__}>"


def show_made(factory: Any) -> str:
    """What a default factory makes: empty containers and records by kind, never a made id."""
    try:
        made = factory()
    except TypeError:
        return "<made>"
    made_anew = isinstance(made, (str, float)) and made
    return f"<{type(made).__name__}>" if made_anew else show(made)


def parameters(function: Any) -> list[str] | None:
    """Parameters in order, with Python's own separators: `["self", "*", "user_id", "x=None"]`."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    shown: list[str] = []
    kinds = inspect.Parameter
    for number, one in enumerate(found):
        text = one.name if one.default is one.empty else f"{one.name}={show(one.default)}"
        if one.kind is kinds.VAR_POSITIONAL:
            text = f"*{text}"
        elif one.kind is kinds.VAR_KEYWORD:
            text = f"**{text}"
        elif one.kind is kinds.KEYWORD_ONLY and not any(p.startswith("*") for p in shown):
            shown.append("*")
        shown.append(text)
        following = list(found)[number + 1 : number + 2]
        if one.kind is kinds.POSITIONAL_ONLY and not (
            following and following[0].kind is kinds.POSITIONAL_ONLY
        ):
            shown.append("/")
    return shown


def kind_of(function: Any) -> str:
    """`async` for a coroutine function, `stream` for an async generator, else `def`."""
    function = inspect.unwrap(function)
    if inspect.isasyncgenfunction(function):
        return "stream"
    return "async" if inspect.iscoroutinefunction(function) else "def"


def describe_function(function: Any) -> list[str] | str:
    """`["async", *parameters]`, or a word where a callable object hides them."""
    shown = parameters(function)
    return "callable" if shown is None else [kind_of(function), *shown]


def fields_of(cls: type) -> dict[str, str]:
    """The fields that the class itself declares, with their defaults ("required" if none)."""
    own: dict[str, Any] = vars(cls).get("__annotations__", {})
    found: dict[str, str] = {}
    if "model_fields" in dir(cls):
        for name, info in typing.cast(Any, cls).model_fields.items():
            if name in own and not name.startswith("_"):
                if info.default_factory is not None:
                    found[name] = show_made(info.default_factory)
                else:
                    found[name] = "required" if info.is_required() else show(info.default)
        return found
    made = {f.name: f for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    for name in own:
        if name.startswith("_"):
            continue
        one = made.get(name)
        if one is None:
            value = vars(cls).get(name, UNREAD)
            is_item = value is UNREAD or type(value).__name__ == "_tuplegetter"
            found[name] = "required" if is_item else show(value)
        elif one.default is not dataclasses.MISSING:
            found[name] = show(one.default)
        elif one.default_factory is not dataclasses.MISSING:
            found[name] = show_made(one.default_factory)
        else:
            found[name] = "required"
    return found


def _decorated(cls: type) -> set[str]:
    """Validators and serializers of a pydantic model: part of how it works, not of its surface."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    if decorators is None:
        return set()
    groups = (f.name for f in dataclasses.fields(decorators))
    return {name for group in groups for name in getattr(decorators, group)}


def describe_member(name: str, value: object) -> list[str] | str | None:
    """A method, property or value of a class; None for what pydantic or Python put there."""
    if name.startswith("_") and name not in ("__init__", "__getitem__", "__setitem__", "__call__"):
        return None
    if (
        name.startswith("model_")
        or isinstance(value, (type, typing.TypeVar))
        or value is typing.Self
    ):
        return None
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return "property"
    if isinstance(value, (staticmethod, classmethod)):
        shown = describe_function(value.__func__)
        return shown if isinstance(shown, str) else [type(value).__name__, *shown]
    if inspect.isroutine(value):
        return describe_function(value)
    if type(value).__name__ in ("member_descriptor", "FieldInfo", "ModelPrivateAttr"):
        return None
    return f"= {show(value)}"


# What pydantic and typing give every class.
INHERITED = (["def", "self", "/", "**data"], ["def", "self", "/", "*args", "**kwargs"])


def describe_class(cls: type) -> Described:
    """Bases (public ones of the same package), fields and members that the class itself has."""
    if issubclass(cls, enum.Enum):
        return {"enum": {name: show(one.value) for name, one in cls.__members__.items()}}
    top = cls.__module__.rpartition(".")[0].split(".")[0]
    bases = [b for b in cls.__mro__[1:] if b.__module__.split(".")[0] == top]
    fields, skipped = fields_of(cls), _decorated(cls)
    found: Described = {"bases": [b.__name__ for b in bases if not b.__name__.startswith("_")]}
    found["fields"] = fields
    members: Described = {}
    for name, value in vars(cls).items():
        if name in fields or name in skipped:
            continue
        shown = describe_member(name, value)
        if shown is not None and shown not in INHERITED:
            members[name] = shown
    found["members"] = members
    return {key: what for key, what in found.items() if what}


def assigned_names(tree: ast.Module) -> Iterator[str]:
    """Public names that the module assigns at its top: constants, aliases of types."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield target.id


def describe_value(package: str, module: str, name: str, value: Any) -> Any:
    """One public name of a module."""
    home = getattr(value, "__module__", None)
    if isinstance(value, type) or inspect.isroutine(value):
        inside = str(home).startswith(f"{package}.")
        private = any(part.startswith("_") for part in str(home).split("."))
        if (home != module and not (inside and private)) or value.__name__ != name:
            if inside and hasattr(sys.modules.get(str(home)), value.__name__):
                return f"is {str(home).removeprefix(f'{package}.')}:{value.__name__}"
            return f"is {value.__name__}"
        return describe_class(value) if isinstance(value, type) else describe_function(value)
    if isinstance(value, (*SIMPLE, str, enum.Enum)):
        return f"= {show(value)}"
    return "value"


def read(module: ModuleType, name: str) -> Any:
    """The value of a name, or UNREAD where it needs a package that is not installed."""
    try:
        return getattr(module, name)
    except (AttributeError, ImportError):
        return UNREAD


def public_names(package: str, module: ModuleType, tree: ast.Module, is_package: bool) -> set[str]:
    """Names the module defines or assigns, lists in `__all__`, or re-exports as a face."""
    unwanted = {"logger", "T", "tracer", "annotations"}
    listed = set(getattr(module, "__all__", ()))
    defined = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, *FUNCTIONS))}
    own = {n for n in {*defined, *assigned_names(tree)} if not n.startswith("_")}
    if is_package or not own:
        for name in dir(module):
            if not name.startswith("_"):
                home = getattr(read(module, name), "__module__", "")
                own |= {name} if str(home).startswith(f"{package}.") else set()
    return {
        name
        for name in (own | listed) - unwanted
        if not isinstance(vars(module).get(name), NOT_SURFACE) and not name.startswith("__")
    }


def describe_module(package: str, name: str, path: Path) -> Any:
    """Every public name of a module; of one that needs what is not installed, the bare names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    full = f"{package}.{name}"
    try:
        module = import_module(full)
    except ImportError:
        names = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, *FUNCTIONS))}
        return {n: UNREAD for n in sorted({*names, *assigned_names(tree)} - {"logger"})
                if not n.startswith("_")}  # fmt: skip
    found: Described = {}
    for public in sorted(public_names(package, module, tree, path.name == "__init__.py")):
        value = read(module, public)
        unread = value is UNREAD
        found[public] = UNREAD if unread else describe_value(package, full, public, value)
    return found


def is_integration(name: str) -> bool:
    """True for a module of the tools that is named only."""
    return any(name == one or name.startswith(f"{one}.") for one in INTEGRATIONS)


def modules_of(root: Path) -> Iterator[tuple[str, Path]]:
    """Public modules of the packages, with their files: no path has a private part."""
    for package in PACKAGES:
        single = root / f"{package}.py"
        files = [single] if single.exists() else sorted((root / package).rglob("*.py"))
        for path in files:
            parts = path.relative_to(root).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                yield ".".join(parts), path


def used_types(root: Path) -> list[str]:
    """Names of google-genai's types that the packages' public modules speak of."""
    used: set[str] = set()
    for name, path in modules_of(root):
        if not is_integration(name):
            used |= set(re.findall(r"\btypes\.([A-Z]\w+)", path.read_text(encoding="utf-8")))
    return sorted(used)


def describe_types(names: list[str]) -> Described:
    """What google-genai's types offer besides their fields, which genai_surface.json holds."""
    types = import_module("google.genai.types")
    found: Described = {}
    for name in names:
        value = getattr(types, name, None)
        if value is not None:
            shown = describe_class(value) if isinstance(value, type) else {}
            found[name] = {} if "enum" in shown else shown.get("members", {})
    return found


def record() -> Described:
    """The whole surface of the installed google-adk."""
    package = "google.adk"
    root = Path(str(import_module(package).__file__)).parent
    found = {
        name: None if is_integration(name) else describe_module(package, name, path)
        for name, path in modules_of(root)
    }
    return {"modules": found, "types": describe_types(used_types(root))}


def to_text(surface: Described) -> str:
    """JSON with one line per class, function or value, so that a difference is easy to read."""
    blocks: list[str] = []
    for section, modules in surface.items():
        lines: list[str] = []
        for module, names in modules.items():
            if names and section == "modules":
                rows = [f"   {json.dumps(n)}: {json.dumps(w)}" for n, w in names.items()]
                lines.append(f"  {json.dumps(module)}: {{\n" + ",\n".join(rows) + "\n  }")
            else:
                lines.append(f"  {json.dumps(module)}: {json.dumps(names)}")
        blocks.append(f' "{section}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Record, or with --check compare; returns the exit code."""
    installed = version("google-adk")
    if installed != WANTED:
        print(f"google-adk {installed} is installed here; the surface is that of {WANTED}")
        return 1
    warnings.simplefilter("ignore")
    text = to_text(record())
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    print(f"surface of google-adk {WANTED}: {'as recorded' if same else 'NOT as recorded'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
