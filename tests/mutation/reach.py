"""Which tests execute which line of a file, and how long each test takes: one run of the selection
under coverage.py. `run.py` calls it in a forked child."""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.child import QUIET
from tests.support.syntax import parse


class Recorder:
    """A pytest plugin that tells coverage which test runs, and notes outcomes and durations."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        self.durations: dict[str, float] = {}
        self.bad: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        spent = self.durations.get(report.nodeid, 0.0)
        self.durations[report.nodeid] = spent + report.duration
        if not report.passed:
            self.bad.add(report.nodeid)


def record(files: Sequence[str], tests: Sequence[str], out: Path) -> None:
    """Run the tests once and write lines, durations and the tests that do not pass."""
    coverage = importlib.import_module("coverage").Coverage(
        data_file=None, include=[str(Path(f).resolve()) for f in files], config_file=False
    )
    coverage.start()
    recorder = Recorder(coverage)
    pytest.main([*QUIET, *tests], plugins=[recorder])
    coverage.stop()
    data = coverage.get_data()
    lines = {
        f: {
            line: [name for name in names if name]
            for line, names in data.contexts_by_lineno(str(Path(f).resolve())).items()
        }
        for f in files
    }
    found = {"lines": lines, "durations": recorder.durations, "bad": sorted(recorder.bad)}
    out.write_text(json.dumps(found), encoding="utf-8")


class Reach:
    """The tests that may notice a change of a line.

    Args:
      source: text of the file.
      lines: tests by executed line.
      bad: tests that did not pass; they count for nothing.
    """

    def __init__(self, source: str, lines: dict[str, list[str]], bad: set[str]) -> None:
        self._lines = {int(k): set(names) - bad for k, names in lines.items()}
        self._tree = parse(source)

    def tests(self, line: int) -> set[str]:
        """Tests that run the statement at this line; where it runs at import, those that run its
        function, or else the file. None where it never runs.
        """
        chain: list[tuple[int, int]] = []
        self._descend(self._tree, line, chain)
        for first, last in reversed(chain):
            ran = [at for at in range(first, last + 1) if at in self._lines]
            found = set[str]().union(*(self._lines[at] for at in ran))
            if found or not ran:
                return found
        return set[str]().union(*self._lines.values())

    def _descend(self, node: ast.AST, line: int, chain: list[tuple[int, int]]) -> None:
        for child in ast.iter_child_nodes(node):
            last = getattr(child, "end_lineno", None)
            first = getattr(child, "lineno", None)
            if first is None or last is None:
                if isinstance(child, ast.ExceptHandler | ast.match_case):
                    self._descend(child, line, chain)
                continue
            if first <= line <= last:
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                    chain.append((child.body[0].lineno, last))
                elif isinstance(child, ast.stmt) and not isinstance(child, ast.ClassDef):
                    body = getattr(child, "body", None)
                    chain.append((first, last if not body else max(first, body[0].lineno - 1)))
                self._descend(child, line, chain)
                return
