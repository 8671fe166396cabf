"""Every public name is in the reference, and has a docstring."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
from docs.site.reference_pages import (
    FACES,
    OTHERS,
    find_definition,
    make_command_page,
    read_public_names,
)

MODULES = [*FACES, *OTHERS]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_a_module_has_a_docstring(module: str) -> None:
    names = read_public_names(module)
    assert names
    lacking: list[str] = []
    for name, home in names.items():
        _, node = find_definition(home)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not ast.get_docstring(node):
                lacking.append(f"{module}.{name}: {home}")
    assert not lacking


@pytest.mark.parametrize("module", MODULES)
def test_every_public_method_of_a_module_has_a_docstring(module: str) -> None:
    lacking = [
        f"{home}.{method.name}"
        for home in read_public_names(module).values()
        if isinstance(node := find_definition(home)[1], ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        and not method.name.startswith("_")
        and not ast.get_docstring(method)
        and not is_inherited(node, method)
    ]
    assert not lacking


def is_inherited(owner: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the method may have its docstring from a base class, or is an overload."""
    decorators = " ".join(ast.unparse(found) for found in method.decorator_list)
    return bool(owner.bases) or any(word in decorators for word in ("overload", "override", "set"))


def test_the_faces_of_the_package_are_all_listed() -> None:
    # These are folders of the implementation, or names that ADK programs import.
    internal = {"cli", "compat", "context", "durable", "execution", "flows", "hosting", "server"}
    internal |= {"a2a", "agent_files", "agent_source", "examples", "features", "integrations"}
    internal |= {"platform", "processes", "utils"}
    root = Path(import_module("ostinato").__file__ or "").parent
    folders = {path.parent.name for path in root.glob("*/__init__.py")}
    listed = {name.partition(".")[2].partition(".")[0] for name in FACES}
    assert folders - internal - listed == set()


def test_the_page_of_commands_has_every_command() -> None:
    page = make_command_page()
    for command in ("run", "serve", "worker", "eval", "docs", "doctor"):
        assert f"## ostinato {command}\n" in page
