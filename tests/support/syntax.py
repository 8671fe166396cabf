"""Syntax trees of source files, read without a collection in between.

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
