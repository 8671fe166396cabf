"""Finds, by syntax tree, what a program can set and nothing reads: fields and parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
# Bases whose subclasses declare fields by annotation.
RECORDS = ("BaseModel", "Record", "NamedTuple")
CHECKS = ("field_validator", "model_validator", "validator")


@dataclass
class Class:
    """A class of the sources.

    Attributes:
      place: `agents.run_config:RunConfig`.
      node: its syntax tree.
      fields: names that it declares by annotation.
    """

    place: str
    node: ast.ClassDef
    fields: list[str] = field(default_factory=list[str])


class Sources:
    """All modules of the package.

    Args:
      root: the package's folder.
    """

    def __init__(self, root: Path) -> None:
        self.classes: list[Class] = []
        self._reads: dict[str, set[int]] = {}
        self._owners: dict[int, ast.ClassDef] = {}
        for path in sorted(root.rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            parts = path.relative_to(root).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self._read(tree, None)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes.append(Class(f"{module}:{node.name}", node, declared(node)))
        by_name = {one.node.name: one for one in self.classes}
        self._records = {name for name, one in by_name.items() if is_record(one.node, by_name)}

    def settings(self) -> Iterator[tuple[str, bool]]:
        """Yield each field and parameter of a public class, and whether something reads it.

        Content types are left out: they are sent and stored as a whole, as JSON.
        """
        for one in self.classes:
            parts = one.place.replace(":", ".").split(".")
            if parts[0] == "types" or any(part.startswith("_") for part in parts):
                continue
            if one.node.name in self._records or is_dataclass(one.node):
                for name in one.fields:
                    if not name.startswith("_"):
                        yield f"{one.place}.{name}", self._is_read(name, one.node)
            for function in one.node.body:
                if isinstance(function, FUNCTIONS) and function.name == "__init__":
                    for name, is_used in self._parameters(function, one.node):
                        yield f"{one.place}({name})", is_used

    def _read(self, node: ast.AST, check: ast.ClassDef | None) -> None:
        """Note the attributes that are read below a node, except by checks of a class itself."""
        for child in ast.iter_child_nodes(node):
            inside = check
            if isinstance(node, ast.ClassDef) and isinstance(child, FUNCTIONS):
                marks = [ast.unparse(mark).partition("(")[0] for mark in child.decorator_list]
                is_check = child.name == "__init__" or any(mark in CHECKS for mark in marks)
                inside = node if is_check else None
            for name in names_read(child):
                self._reads.setdefault(name, set()).add(id(inside) if inside else 0)
            self._read(child, inside)

    def _is_read(self, name: str, own: ast.ClassDef) -> bool:
        return bool(self._reads.get(name, set()) - {id(own)})

    def _parameters(self, function: Function, own: ast.ClassDef) -> Iterator[tuple[str, bool]]:
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        stored = stored_names(function)
        used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        for name in names[1:]:
            kept = stored.get(name, [])
            is_kept_unread = bool(kept) and not any(self._is_read(k, own) for k in kept)
            yield name, name in used and not is_kept_unread


def names_read(node: ast.AST) -> Iterator[str]:
    """The names that a node reads: `x.name`, a text as in `getattr(x, "name")`, a pattern."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs


def stored_names(function: Function) -> dict[str, list[str]]:
    """The attributes of self that hold a parameter, if nothing else is done with it."""
    stored: dict[str, list[str]] = {}
    plain: set[ast.expr] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        targets, values = node.targets[0], node.value
        pairs = (
            zip(targets.elts, values.elts, strict=False)
            if isinstance(targets, ast.Tuple) and isinstance(values, ast.Tuple)
            else [(targets, values)]
        )
        for target, value in pairs:
            if isinstance(target, ast.Attribute) and isinstance(value, ast.Name):
                stored.setdefault(value.id, []).append(target.attr)
                plain.add(value)
    used = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n not in plain]
    return {name: kept for name, kept in stored.items() if name not in {n.id for n in used}}


def declared(node: ast.ClassDef) -> list[str]:
    """The names that a class declares by annotation."""
    return [
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and "ClassVar" not in ast.unparse(one.annotation)
    ]


def is_record(node: ast.ClassDef, by_name: dict[str, Class]) -> bool:
    """True for a class whose annotations are fields, by one of its bases."""
    for base in node.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if name in RECORDS:
            return True
        if name in by_name and name != node.name and is_record(by_name[name].node, by_name):
            return True
    return False


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(mark) for mark in node.decorator_list)
