"""Holds our modules against the recorded surface; gives one finding per thing that differs."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import ostinato.types as types
from tests.surface import record
from tests.surface.shown import UNREAD, members, show
from tests.surface.source import UNKNOWN

PACKAGE = "ostinato"


@dataclass(frozen=True)
class Finding:
    """One difference: where (`agents.llm_agent:LlmAgent.clone(update)`) and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}  {self.what}"


def compare(surface: dict[str, Any]) -> Iterator[Finding]:
    """Everything of the recorded surface that ours has not, or has otherwise."""
    for name, names in surface["modules"].items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                module = import_module(f"{PACKAGE}.{name}".rstrip("."))
            except ModuleNotFoundError:
                yield Finding(name, "no such module")
                continue
        for public, what in names.items():
            where = f"{name}:{public}"
            if record.read(module, public) is UNREAD:
                yield Finding(where, "no such name")
                continue
            yield from compare_value(where, what, getattr(module, public))
    for name, described in surface["types"].items():
        if not hasattr(types, name):
            yield Finding(f"types:{name}", "no such name")
            continue
        for member, what in described.items():
            yield from compare_member(f"types:{name}", member, what, getattr(types, name))


def compare_value(where: str, what: Any, ours: Any) -> Iterator[Finding]:
    """One name of a module."""
    if what in ("unread", "value", "callable"):
        return
    if isinstance(what, dict):
        if isinstance(ours, type):
            yield from compare_class(where, what, ours)
        else:
            yield Finding(where, "is no class")
    elif isinstance(what, list):
        if callable(ours):
            yield from compare_function(where, what, ours)
        else:
            yield Finding(where, "is not callable")
    elif what.startswith("is "):
        yield from compare_home(where, what[3:], ours)
    elif f"= {show(ours)}" != what:
        yield Finding(where, f"ours {show(ours)}, theirs {what[2:]}")


def compare_home(where: str, home: str, ours: Any) -> Iterator[Finding]:
    """A name that another module defines must be the same object there."""
    module, colon, name = home.partition(":")
    if not colon or any(part.startswith("_") for part in module.split(".")):
        return
    try:
        there = getattr(import_module(f"{PACKAGE}.{module}"), name, None)
    except ModuleNotFoundError:
        return
    if there is not ours:
        yield Finding(where, f"is not the {name} of {module}")


def compare_class(where: str, what: dict[str, Any], ours: type) -> Iterator[Finding]:
    """Bases by name, fields, members."""
    if "enum" in what:
        mine = record.describe_class(ours).get("enum", {})
        for name, value in what["enum"].items():
            if mine.get(name) != value:
                yield Finding(f"{where}.{name}", f"ours {mine.get(name)}, theirs {value}")
        return
    mro = {cls.__name__ for cls in ours.__mro__}
    for base in what.get("bases", ()):
        if base not in mro and "[" not in base:
            yield Finding(where, f"is no {base}")
    for field, (kind, default) in what.get("fields", {}).items():
        yield from compare_field(where, field, default, ours)
        yield from compare_type(where, field, kind, ours)
    for name, shown in what.get("members", {}).items():
        yield from compare_member(where, name, shown, ours)


def compare_type(where: str, field: str, kind: str, ours: type) -> Iterator[Finding]:
    """The type of a field that both declare; ours may take more."""
    mine = all_fields(ours).get(field)
    missing = members(kind) - members(mine[0]) if mine is not None else set[str]()
    if mine is not None and missing and not re.search(r"\bAny\b", mine[0]):
        yield Finding(f"{where}.{field}", f"ours {mine[0]}, theirs {kind}")


def all_fields(cls: type) -> dict[str, list[str]]:
    """The fields of a class and its bases, with what record.py says about each."""
    found: dict[str, list[str]] = {}
    for base in reversed(cls.__mro__):
        found |= record.fields_of(base)
    return found


def attributes_of(cls: type) -> set[str]:
    """What the methods of a class and its bases set on `self`."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] == PACKAGE:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.add(node.attr)
    return found


def compare_field(where: str, field: str, default: str, ours: type) -> Iterator[Finding]:
    known = all_fields(ours).get(field)
    mine = known[1] if known is not None else None
    if mine is None and not is_model(ours):
        parameters = inspect.signature(ours).parameters
        if field in parameters:
            one = parameters[field].default
            mine = "required" if one is inspect.Parameter.empty else show(one)
    if mine is None:
        if not hasattr(ours, field) and field not in attributes_of(ours):
            yield Finding(f"{where}.{field}", "no such field")
    elif mine != default and default not in ("required", "<made>", UNKNOWN):
        yield Finding(f"{where}.{field}", f"ours {mine}, theirs {default}")


def is_model(cls: type) -> bool:
    """True for a pydantic model. Its signature changes once its validator is built, and says less
    than its fields; models of ours take what they do not declare by keyword, or refuse it.
    """
    return "model_fields" in dir(cls)


def compare_model_init(where: str, shown: list[str], ours: type) -> Iterator[Finding]:
    """The parameters that a record of theirs takes by name: ours are fields."""
    for text in shown[2:]:
        name, _, default = text.partition("=")
        if not name.startswith(("*", "/")):
            yield from compare_field(where, name, default or "required", ours)


def compare_member(where: str, name: str, shown: Any, ours: type) -> Iterator[Finding]:
    """A method, property or value of a class; one that ours inherits counts."""
    if name == "__init__" and is_model(ours) and "__init__" not in vars(ours):
        yield from compare_model_init(where, shown, ours)
        return
    if name == "__init__" and "__init__" not in vars(ours):
        yield from compare_function(f"{where}.{name}", [shown[0], *shown[2:]], ours)
        return
    try:
        mine = inspect.getattr_static(ours, name)
    except AttributeError:
        if name not in all_fields(ours) and name not in attributes_of(ours):
            yield Finding(f"{where}.{name}", "no such member")
        return
    if not isinstance(shown, list):
        return  # a property, or a class's value: that it is there is enough
    if isinstance(mine, (staticmethod, classmethod)):
        bound = [type(mine).__name__, *shown] if shown[0] not in BOUND else shown
        yield from compare_function(f"{where}.{name}", bound[1:], mine.__func__)
    elif shown[0] in BOUND:
        yield Finding(f"{where}.{name}", f"is no {shown[0]}")
    elif callable(mine):
        yield from compare_function(f"{where}.{name}", shown, mine)
    else:
        yield Finding(f"{where}.{name}", "is not callable")


BOUND = ("staticmethod", "classmethod")
PLAIN, KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
VAR, VAR_KEYWORD = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def compare_function(where: str, what: list[str], ours: Any) -> Iterator[Finding]:
    """Its kind (async, stream), every parameter, and that ours asks for nothing more."""
    kind = record.kind_of(ours)
    if kind != what[0]:
        yield Finding(where, f"ours {kind}, theirs {what[0]}")
    try:
        mine = inspect.signature(ours).parameters
    except ValueError:
        yield Finding(where, f"takes what a builtin takes, theirs {what[1:]}")
        return
    shown = [text for text in what[1:] if text != "/"]
    keywords = next((n for n, text in enumerate(shown) if text.startswith("*")), len(shown))
    for position, text in enumerate(shown):
        if text != "*":
            at = position if position < keywords else None
            yield from compare_parameter(where, text, at, mine)
    theirs = {text.partition("=")[0] for text in shown}
    for name, one in mine.items():
        if name not in theirs and one.default is one.empty and one.kind in (PLAIN, KEYWORD):
            yield Finding(f"{where}({name})", "ours alone, and required")


def compare_parameter(
    where: str, text: str, position: int | None, mine: Mapping[str, inspect.Parameter]
) -> Iterator[Finding]:
    """One parameter; `position` is None for one that is given by keyword."""
    kinds = {p.kind for p in mine.values()}
    name, has_default, default = text.partition("=")
    one = mine.get(name)
    at = f"{where}({name})"
    if name.startswith("*"):
        if (VAR_KEYWORD if name.startswith("**") else VAR) not in kinds:
            yield Finding(at, "is not accepted")
    elif one is None:
        if VAR_KEYWORD not in kinds:
            yield Finding(at, "no such parameter")
    elif position is not None and one.kind is KEYWORD:
        yield Finding(at, "ours by keyword only")
    elif position is not None and VAR not in kinds and list(mine)[position] != name:
        yield Finding(at, f"ours has {list(mine)[position]} at its position")
    elif has_default and default not in (show(one.default), UNKNOWN):
        yield Finding(at, f"ours {show_default(one)}, theirs {default}")


def show_default(one: inspect.Parameter) -> str:
    return "required" if one.default is one.empty else show(one.default)
