"""Describes a module from its source alone: for one that needs a package which is not installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tests.surface.shown import show, show_annotation

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
# A default that only its evaluation would tell.
UNKNOWN = "?"
SPECIAL = ("__init__", "__getitem__", "__setitem__", "__call__")
PROPERTIES = ("property", "cached_property", "setter")


def describe_source(tree: ast.Module) -> dict[str, Any]:
    """Every public name that the module itself defines, as record.py would describe it."""
    found: dict[str, Any] = {}
    for node in statements(tree.body):
        if isinstance(node, ast.ClassDef):
            found[node.name] = _class(node)
        elif isinstance(node, FUNCTIONS):
            found[node.name] = _function(node)
        else:
            found |= dict(_assigned(node))
    return {n: what for n, what in sorted(found.items()) if not n.startswith("_") and n != "logger"}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements at a module's top, those of its `try` and `if` blocks included."""
    for node in body:
        yield node
        if isinstance(node, (ast.Try, ast.If)):
            yield from statements([*node.body, *node.orelse])


def _assigned(node: ast.stmt) -> Iterator[tuple[str, str]]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    for target in targets:
        if isinstance(target, ast.Name):
            shown = _value(value)
            yield target.id, "value" if shown == UNKNOWN else f"= {shown}"


def _value(node: ast.expr | None) -> str:
    try:
        return "required" if node is None else show(ast.literal_eval(node))
    except (ValueError, TypeError):
        return UNKNOWN


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return ast.unparse(node).partition("[")[0].rpartition(".")[2]


def _function(node: Function, *, in_class: bool = False) -> list[str]:
    inner = [n for n in ast.walk(node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    kind = "async" if isinstance(node, ast.AsyncFunctionDef) else "def"
    if kind == "async" and inner:
        kind = "stream"
    marks = [_name(d) for d in node.decorator_list if in_class]
    bound = [mark for mark in marks if mark in ("staticmethod", "classmethod")]
    return [*bound, kind, *_parameters(node.args)]


def _parameters(arguments: ast.arguments) -> list[str]:
    shown: list[str] = []
    plain = [*arguments.posonlyargs, *arguments.args]
    without = len(plain) - len(arguments.defaults)
    for number, one in enumerate(plain):
        default = arguments.defaults[number - without] if number >= without else None
        shown.append(one.arg if default is None else f"{one.arg}={_value(default)}")
        if number + 1 == len(arguments.posonlyargs):
            shown.append("/")
    if arguments.vararg is not None:
        shown.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        shown.append("*")
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        shown.append(one.arg if default is None else f"{one.arg}={_value(default)}")
    return [*shown, *([f"**{arguments.kwarg.arg}"] if arguments.kwarg is not None else [])]


def _class(node: ast.ClassDef) -> dict[str, Any]:
    bases = [_name(base) for base in node.bases]
    if any(base.endswith("Enum") for base in bases):
        return {"enum": {n: v.removeprefix("= ") for one in node.body for n, v in _assigned(one)}}
    fields: dict[str, list[str]] = {}
    members: dict[str, Any] = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            fields[one.target.id] = [show_annotation(one.annotation), _field(one.value)]
        elif isinstance(one, FUNCTIONS):
            marks = [_name(mark) for mark in one.decorator_list]
            is_property = any(mark in PROPERTIES for mark in marks)
            members[one.name] = "property" if is_property else _function(one, in_class=True)
        else:
            members |= {n: v for n, v in _assigned(one) if n != "model_config"}
    found = {
        "bases": [base for base in bases if not base.startswith("_")],
        "fields": {n: what for n, what in fields.items() if not n.startswith("_")},
        "members": {n: w for n, w in members.items() if n in SPECIAL or not n.startswith("_")},
    }
    return {key: what for key, what in found.items() if what}


def _field(value: ast.expr | None) -> str:
    """The default of a field: of `Field(...)` that what it names, if it is a plain value."""
    if not isinstance(value, ast.Call) or _name(value) not in ("Field", "field"):
        return _value(value)
    named = {keyword.arg: keyword.value for keyword in value.keywords}
    if "default_factory" in named:
        return "<made>"
    given = named.get("default") or (value.args[0] if value.args else None)
    is_missing = given is None or (isinstance(given, ast.Constant) and given.value is ...)
    return "required" if is_missing else _value(given)
