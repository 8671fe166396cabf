"""Values and types as short texts that are the same in every run, for the record of surfaces."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import types
import typing
from collections.abc import Iterable
from typing import Any

# What stands for a thing that needs a package which is not installed.
UNREAD = "unread"
SIMPLE = (bool, int, float, type(None))
# An identifier-like text; sentences are not recorded, only that there is one.
WORD = re.compile(r"(?!\d{8}_\d{6})[\w./:{}<>-]{0,60}")  # and no time of the import
UNIONS = ("Union", "UnionType")
# Old names of typing for builtin containers.
BUILTIN = {"Dict": "dict", "FrozenSet": "frozenset", "List": "list", "Set": "set",
           "Tuple": "tuple", "Type": "type", "NoneType": "None"}  # fmt: skip


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


def show_type(annotation: Any) -> str:
    """A type as text: names without their modules, unions in order of name with None at the end,
    the parameters of callables left out.
    """
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return show_annotation(ast.parse(annotation, mode="eval").body)
    if annotation is None or annotation is type(None):
        return "None"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return show_type(arguments[0])
    if origin is typing.Literal:
        return _subscript("Literal", sorted(show(one) for one in arguments))
    if origin in (typing.Union, types.UnionType):
        return _union(show_type(one) for one in arguments)
    name = getattr(origin or annotation, "__name__", None) or str(annotation).rpartition(".")[2]
    if origin is None or name == "Callable":
        return BUILTIN.get(name, name.partition("[")[0])
    return _subscript(name, ["..." if one is ... else show_type(one) for one in arguments])


def show_annotation(node: ast.expr) -> str:
    """The same of an annotation's source."""
    match node:
        case ast.Name():
            return BUILTIN.get(node.id, node.id)
        case ast.Attribute():
            return BUILTIN.get(node.attr, node.attr)
        case ast.Constant(value=str(text)):
            return show_type(text)
        case ast.BinOp():
            return _union([show_annotation(node.left), show_annotation(node.right)])
        case ast.Subscript():
            return _show_subscript(show_annotation(node.value), node.slice)
        case _:
            return ast.unparse(node)


def _show_subscript(name: str, inner: ast.expr) -> str:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Callable":
        return name
    if name == "Literal":
        return _subscript(name, sorted(ast.unparse(one) for one in parts))
    shown = [show_annotation(one) for one in parts]
    if name == "Annotated":
        return shown[0]
    if name in ("Optional", *UNIONS):
        return _union([*shown, *(["None"] if name == "Optional" else [])])
    return _subscript(name, shown)


def _subscript(name: str, parts: Iterable[str]) -> str:
    return f"{name}[{', '.join(parts)}]"


def _union(parts: Iterable[str]) -> str:
    found = {one for part in parts for one in members(part)}
    return " | ".join(sorted(found, key=lambda one: (one == "None", one)))


def members(text: str) -> set[str]:
    """The members of a union's text, split outside of brackets."""
    found, depth = [""], 0
    for one in text.split(" | "):
        found[-1] += f" | {one}" if depth else one
        depth += one.count("[") - one.count("]")
        if depth == 0:
            found.append("")
    return {one for one in found if one}
