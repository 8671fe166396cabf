"""One mutant under test, in a process of its own, until the first test that fails.

A change inside a function is tested in a forked child that has Ostinato and all tests loaded: the
function gets the mutated code (`patch`). Any other change (a constant, a default) is tested in a
new process that loads the mutated text in place of the file (`python -m tests.mutation.child`).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

MEMORY = 3 << 30
QUIET = ["-q", "-p", "no:cacheprovider"]


class Killer:
    """A pytest plugin that notes the first test that failed."""

    def __init__(self) -> None:
        self.test: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.test is None:
            self.test = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.test is None:
            self.test = f"collecting {report.nodeid}"


# -- a change inside a function --------------------------------------------------------------------


def changed_functions(before: CodeType, after: CodeType) -> list[tuple[str, CodeType]] | None:
    """Qualified names and new code of the functions that differ; None where more differs."""
    if _body(before) != _body(after):
        return None
    found: list[tuple[str, CodeType]] = []
    for old, new in zip(_nested(before), _nested(after), strict=True):
        if old == new:
            continue
        if old.co_flags & 0x0002 and old.co_freevars == new.co_freevars:  # CO_NEWLOCALS: function
            found.append((new.co_qualname, new))
            continue
        inner = changed_functions(old, new)
        if inner is None:
            return None
        found += inner
    return found


def _nested(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _body(code: CodeType) -> tuple[Any, ...]:
    constants = tuple("code" if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable)


def patch(module: ModuleType, changed: Sequence[tuple[str, CodeType]]) -> None:
    """Give functions of a loaded module new code."""
    for name, code in changed:
        found: Any = module
        for step in name.split("."):
            found = vars(found)[step]
        function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        assert isinstance(function, FunctionType)
        function.__code__ = code


def run_patched(
    session: pytest.Session,
    items: Sequence[pytest.Item],
    work: Path,
    apply: Callable[[], None],
) -> None:
    """Run in the forked child; never returns. Writes `result.json` into `work`."""
    _enter(work)
    killer = Killer()
    session.config.pluginmanager.register(killer)
    config: Any = session.config
    factory = config._tmp_path_factory
    factory._given_basetemp, factory._basetemp = work / "tmp", None
    try:
        apply()
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if killer.test is not None:
                break
    except BaseException as error:  # whatever a mutant does, the parent is told
        traceback.print_exc()
        killer.test = killer.test or f"raised {type(error).__name__}"
    _leave(work, 0 if killer.test is None else 1, killer.test)


def _enter(work: Path) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    log = os.open(work / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _leave(work: Path, code: int, by: str | None) -> None:
    (work / "result.json").write_text(json.dumps({"code": code, "by": by}), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


# -- any other change ------------------------------------------------------------------------------


class MutantFinder(importlib.abc.MetaPathFinder):
    """Finds one module and loads it from the given text, as if it stood in its file."""

    def __init__(self, module: str, path: Path, text: str) -> None:
        self._module, self._path, self._text = module, str(path.resolve()), text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        loader = _TextLoader(fullname, self._path, self._text)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _TextLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


def main(work: Path) -> None:
    """Run in a new process what `work/task.json` says; never returns."""
    task = json.loads((work / "task.json").read_text(encoding="utf-8"))
    _enter(work)
    sys.meta_path.insert(0, MutantFinder(task["module"], Path(task["path"]), task["text"]))
    killer = Killer()
    try:
        importlib.import_module(task["module"])
        options = ["-x", *QUIET, f"--basetemp={work / 'tmp'}"]
        code = int(pytest.main([*options, *task["tests"]], plugins=[killer]))
    except BaseException as error:  # as above
        traceback.print_exc()
        code, killer.test = 1, f"importing: {type(error).__name__}"
    _leave(work, code, killer.test)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
