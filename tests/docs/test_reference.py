"""Every public name is in the reference, and has a docstring."""

from __future__ import annotations

import ast
import inspect
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
    face = import_module(module)
    lacking = [
        f"{name}.{attribute}"
        for name in read_public_names(module)
        for attribute in find_undocumented(getattr(face, name))
    ]
    assert not lacking


def find_undocumented(owner: object) -> list[str]:
    """Return the public methods and properties of a class without a docstring, its own or one
    that it inherits; those that pydantic or a base outside of the package gives are not counted."""
    if not isinstance(owner, type) or not owner.__module__.startswith("ostinato"):
        return []
    return [
        name
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod))
        and not inspect.getdoc(getattr(owner, name))
    ]


def test_a_method_without_a_docstring_is_found() -> None:
    class Bare:
        def said(self) -> None:
            """Say so."""

        def bare(self) -> None: ...

    Bare.__module__ = "ostinato.made_up"
    assert find_undocumented(Bare) == ["bare"]


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
