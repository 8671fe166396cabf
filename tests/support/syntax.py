"""Syntax trees of source files, read without a collection in between, and a quick walk over them.

Python 3.11 raises "AST constructor recursion depth mismatch" if the collector runs a finalizer of
an earlier test, such as a coroutine's, while it makes a tree.
"""

from __future__ import annotations

import ast
import gc


def parse(source: str, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a source text."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source, filename)
    finally:
        if was_enabled:
            gc.enable()


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes that `ast.walk` yields in half the time; contexts (`Load`) are left out."""
    found = [tree]
    for node in found:
        for value in vars(node).values():
            kind = type(value)
            if kind is list:
                found += [each for each in value if isinstance(each, ast.AST)]
            elif kind is not int and kind is not str and isinstance(value, ast.AST):
                if not isinstance(value, ast.expr_context):
                    found.append(value)
    return found
