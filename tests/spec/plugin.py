"""Checks at collection that every `@pytest.mark.spec(...)` names rows that exist in the manifest,
and that the static reading in `bindings.py`, which the report uses, sees the same marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.bindings import read_bindings
from tests.spec.rows import ROWS

TESTS = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    problems: list[str] = []
    seen: dict[Path, set[str]] = {}
    for item in items:
        marked = {str(row) for mark in item.iter_markers("spec") for row in mark.args}
        if not marked:
            continue
        problems += [f"{item.nodeid}: no row {row}" for row in sorted(marked - ROWS.keys())]
        if item.path.is_relative_to(TESTS):
            seen.setdefault(item.path, set()).update(marked)
    for path, marked in seen.items():
        static = {row for binding in read_bindings(path) for row in binding.rows}
        problems += [
            f"{path.name}: row {row} is not written as a literal in a spec mark"
            for row in sorted(marked - static)
        ]
    if problems:
        raise pytest.UsageError("spec marks: " + "; ".join(problems))
