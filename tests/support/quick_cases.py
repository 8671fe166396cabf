"""Which cases of a parametrised test `make test` runs; the rest is marked long.

Of a test with many cases it runs a few that are spread evenly: each case shows the same rule. It
runs all of them in the suites whose cases are subjects of their own: a rule, a page, a trace.

Of a test over every session store it takes cases on a dict and on a SQLite file. On the other
stores, which walk the same path, it runs the first case of each test, and on databases in memory,
whose SQL is that of files, the first one of each file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

MAX_CASES = 3
# Here each case is a subject of its own.
_WHOLE = (
    "tests/arch/",
    "tests/docs/",
    "tests/golden/test_golden.py::test_replay",
    "tests/surface/",
    "tests/unit/test_module_paths.py",
)
# Where tests get the stores of tests/unit/sessions/conftest.py.
_STORES = (
    "tests/approvals/",
    "tests/unit/runners/test_deleted_sessions.py",
    "tests/unit/sessions/",
)
_ONCE_A_TEST = ("plain", "sql file")
_ONCE_A_FILE = ("memory", "sql memory")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what only `make check` runs, before cases are chosen by their marks."""
    if not any(line.startswith("long:") for line in config.getini("markers")):
        return  # a test that runs pytest itself
    for find_repeats in (_find_repeated_stores, _find_repeated_rules):
        # The second looks at what the first has left.
        for item in list(find_repeats([*_read_quick_cases(items)])):
            item.add_marker(pytest.mark.long)


def choose_spread(cases: Sequence[T], count: int) -> list[T]:
    """Return that many cases, or all if there are fewer, spread from the first to the last."""
    if len(cases) <= count:
        return list(cases)
    return [cases[index * (len(cases) - 1) // (count - 1)] for index in range(count)]


def _read_quick_cases(items: list[pytest.Item]) -> Iterator[pytest.Function]:
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        if not any(item.get_closest_marker(mark) for mark in ("long", "service")):
            yield item


def _find_repeated_stores(cases: Iterable[pytest.Function]) -> Iterator[pytest.Function]:
    seen: set[Hashable] = set()
    for case in cases:
        if not case.nodeid.startswith(_STORES):
            continue
        named = case.callspec.params
        store = named.get("store", named.get("service"))
        if store in _ONCE_A_TEST:
            kind = (case.path, case.originalname, store)
        elif store in _ONCE_A_FILE:
            kind = (case.path, store)
        else:
            continue
        if kind in seen:
            yield case
        seen.add(kind)


def _find_repeated_rules(cases: Iterable[pytest.Function]) -> Iterator[pytest.Function]:
    tests: dict[Hashable, list[pytest.Function]] = {}
    for case in cases:
        if not case.nodeid.startswith(_WHOLE):
            tests.setdefault((case.parent, case.originalname), []).append(case)
    for same in tests.values():
        chosen = {case.nodeid for case in choose_spread(same, MAX_CASES)}
        yield from (case for case in same if case.nodeid not in chosen)
