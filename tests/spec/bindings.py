"""Reads which tests are bound to which rows of the manifest, from the `@pytest.mark.spec(...)`
marks in the test files' source, so that the report needs no test run. Golden scenarios name their
rows in `@scenario(...)`; `test_golden.py` replays each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MARKS = ("pytest.mark.spec", "scenario")


@dataclass(frozen=True)
class Binding:
    """One mark: the test file, the test's name and the rows that it shows."""

    path: Path
    test: str
    rows: tuple[str, ...]


def read_bindings(path: Path) -> list[Binding]:
    """The bindings of one test file; a mark on a class or a module counts for each test in it."""
    source = path.read_text(encoding="utf-8")
    if not any(mark in source for mark in _MARKS):  # most files; to parse them takes seconds
        return []
    return list(_walk(path, ast.parse(source), "", ()))


def read_all(folder: Path) -> list[Binding]:
    """The bindings of every test file below `folder`."""
    files = [*sorted(folder.rglob("test_*.py")), *sorted(folder.glob("golden/scenarios/*.py"))]
    return [b for path in files for b in read_bindings(path)]


def _walk(path: Path, node: ast.AST, prefix: str, outer: tuple[str, ...]) -> Iterator[Binding]:
    body = getattr(node, "body", [])
    for child in body:
        if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "pytestmark":
            outer += _rows(child.value)
    for child in body:
        if isinstance(child, ast.ClassDef):
            marks = tuple(row for d in child.decorator_list for row in _rows(d))
            yield from _walk(path, child, f"{prefix}{child.name}::", outer + marks)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            rows = outer + tuple(row for d in child.decorator_list for row in _rows(d))
            if rows and (child.name.startswith("test") or path.parent.name == "scenarios"):
                yield Binding(path, prefix + child.name, tuple(dict.fromkeys(rows)))


def _rows(expression: ast.expr) -> tuple[str, ...]:
    """The literal rows of every `pytest.mark.spec(...)` or `scenario(...)` in the expression.

    A scenario may also name a disagreement of the specification, such as "X4"; that is no row.
    """
    return tuple(
        str(argument.value)
        for node in ast.walk(expression)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _MARKS
        for argument in node.args
        if isinstance(argument, ast.Constant) and not str(argument.value).startswith("X")
    )
