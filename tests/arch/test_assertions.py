"""Every test can fail: it asserts, or it calls a helper beside it that does."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.syntax import parse, walk

pytestmark = pytest.mark.long

TESTS = Path(__file__).resolve().parents[1]
ALLOWED = {
    "unit/sessions/test_vertex_ai_session_service.py::test_contract_of_every_store": (
        "it plays the tests of the contract, which assert"
    ),
}
CHECKS = ("pytest.raises", "pytest.warns", "pytest.fail")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class CheckedFunction(NamedTuple):
    """A function's name, whether it asserts itself, and the names of what it calls."""

    name: str
    asserts: bool
    called: frozenset[str]

    def is_checking(self, helpers: Collection[str]) -> bool:
        """Return whether the function asserts, itself or by a call of a helper."""
        return self.asserts or not self.called.isdisjoint(helpers)


@functools.cache
def read_functions(path: Path) -> tuple[CheckedFunction, ...]:
    """Return the functions of a file; many tests have the same helpers beside them."""
    tree = parse(path.read_text(encoding="utf-8"))
    return tuple(_read_function(node) for node in walk(tree) if isinstance(node, Function))


def _read_function(function: Function) -> CheckedFunction:
    asserts, names = False, set[str]()
    for node in walk(function):
        if isinstance(node, ast.Assert):
            asserts = True
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            name = called.rpartition(".")[2]
            asserts = asserts or called in CHECKS or name.startswith(("assert", "check"))
            names.add(name)
    return CheckedFunction(function.name, asserts, frozenset(names))


def find_unchecked(path: Path, folder: Path) -> list[str]:
    """Return the tests of a file that cannot fail by an assertion."""
    above = [one for one in path.parents if one == folder or folder in one.parents]
    files = [file for one in above for file in one.glob("*.py") if file.name[:5] != "test_"]
    own = read_functions(path)
    tests = [one for one in own if one.name.startswith("test")]
    others = [one for file in files for one in read_functions(file)]
    others += [one for one in own if one not in tests]
    helpers: set[str] = set()
    while found := {o.name for o in others if o.name not in helpers and o.is_checking(helpers)}:
        helpers |= found
    return [one.name for one in tests if not one.is_checking(helpers)]


def test_every_test_asserts() -> None:
    paths = sorted(TESTS.rglob("test_*.py"))
    found = {f"{p.relative_to(TESTS)}::{name}" for p in paths for name in find_unchecked(p, TESTS)}
    assert found == set(ALLOWED)


def test_a_test_that_asserts_nothing_is_found(tmp_path: Path) -> None:
    tmp_path.joinpath("kit.py").write_text("def see(x):\n    assert x\n")
    path = tmp_path / "test_it.py"
    path.write_text("def test_a():\n    see(1)\n\nasync def test_b():\n    print(1)\n")
    assert find_unchecked(path, tmp_path) == ["test_b"]
