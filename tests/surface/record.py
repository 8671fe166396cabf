"""Records the public surface of google-adk 2.3.0 as data: every public module with its classes,
functions, parameters, fields and members, and the names and methods of google-genai's types that
they use. Only names, kinds, types of fields and plain default values are kept.

Run it with the interpreter of google-adk's own environment; `--check` compares with what is stored
and changes nothing. The test describes our own modules with the same functions. A module that
needs a package which is not installed there is described from its source (source.py).
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

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.surface.shown import SIMPLE, UNREAD, show, show_made, show_type
from tests.surface.source import FUNCTIONS, describe_source, statements

TARGET = Path(__file__).with_name("surface.json")
WANTED = "2.3.0"
# Names that a module imports and many programs take from it.
IMPORTED = {
    "auth.auth_preprocessor": ("REQUEST_EUC_FUNCTION_CALL_NAME",),
    "runners": ("FINISH_TASK_SUCCESS_RESULT", "FINISH_TASK_TOOL_NAME", "RunConfig"),
}

KINDS = (type, typing.TypeVar)
NOT_SURFACE = (typing.TypeVar, typing.ParamSpec, ModuleType)
Described = dict[str, Any]


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


def fields_of(cls: type) -> dict[str, list[str]]:
    """The fields that the class itself declares: type and default ("required" if there is none)."""
    own: dict[str, Any] = vars(cls).get("__annotations__", {})
    if "model_fields" in dir(cls):
        infos = typing.cast(Any, cls).model_fields.items()
        return {
            name: [show_type(info.annotation), _model_default(info)]
            for name, info in infos
            if name in own and not name.startswith("_")
        }
    made = {f.name: f for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    hints = _hints(cls)
    return {
        name: [show_type(hints.get(name, own[name])), _plain_default(cls, name, made.get(name))]
        for name in own
        if not name.startswith("_")
    }


def _hints(cls: type) -> dict[str, Any]:
    """The resolved annotations, or none where one names what is imported for checkers only."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):
        return {}


def _model_default(info: Any) -> str:
    if info.default_factory is not None:
        return show_made(info.default_factory)
    return "required" if info.is_required() else show(info.default)


def _plain_default(cls: type, name: str, field: dataclasses.Field[Any] | None) -> str:
    """The default of a field of a dataclass, named tuple, typed dict or plain class."""
    if field is None:
        value = vars(cls).get(name, UNREAD)
        is_item = value is UNREAD or type(value).__name__ == "_tuplegetter"
        return "required" if is_item else show(value)
    if field.default is not dataclasses.MISSING:
        return show(field.default)
    made = field.default_factory is not dataclasses.MISSING
    return show_made(field.default_factory) if made else "required"


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
    fields = fields_of(cls)
    found: Described = {"bases": [b.__name__ for b in bases if not b.__name__.startswith("_")]}
    found["fields"] = fields
    members: Described = {}
    for name, value in vars(cls).items():
        if name in fields:
            continue
        shown = describe_member(name, value)
        if shown is not None and shown not in INHERITED:
            members[name] = shown
    found["members"] = members
    return {key: what for key, what in found.items() if what}


def own_names(tree: ast.Module) -> Iterator[str]:
    """Public names that the module defines or assigns at its top: classes, constants, aliases."""
    for node in statements(tree.body):
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            names = [node.name]
        yield from (name for name in names if not name.startswith("_"))


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
    unwanted = {"logger", "T", "annotations"}
    listed = set(getattr(module, "__all__", ()))
    own = set(own_names(tree))
    if is_package or not own:
        for name in dir(module):
            if not name.startswith("_"):
                home = getattr(read(module, name), "__module__", "")
                own |= {name} if str(home).startswith(f"{package}.") else set()
    return {
        name
        for name in (own | listed) - unwanted
        if not isinstance(vars(module).get(name), NOT_SURFACE)
        and (not name.startswith("__") or name == "__version__")
    }


def describe_module(package: str, name: str, path: Path) -> Any:
    """Every public name of a module; of one that needs what is not installed, from its source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    full = f"{package}.{name}".rstrip(".")
    try:
        module = import_module(full)
    except ImportError:
        return describe_source(tree)
    found: Described = {}
    public_here = public_names(package, module, tree, path.name == "__init__.py")
    for public in sorted(public_here | set(IMPORTED.get(name, ()))):
        value = read(module, public)
        unread = value is UNREAD
        found[public] = UNREAD if unread else describe_value(package, full, public, value)
    return found


def modules_of(root: Path) -> Iterator[tuple[str, Path]]:
    """Public modules with their files, the root as "": no path has a private part."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts), path


def used_types(root: Path) -> list[str]:
    """Names of google-genai's types that the packages' public modules speak of."""
    used: set[str] = set()
    for _, path in modules_of(root):
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
    found = {name: describe_module(package, name, path) for name, path in modules_of(root)}
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
