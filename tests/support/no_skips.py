"""With OSTINATO_NO_SKIPS=1 a run fails if any test was skipped or expected to fail, so that
"everything passed" means that everything ran. `make check` sets it."""

from __future__ import annotations

import os

import pytest

VARIABLE = "OSTINATO_NO_SKIPS"


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(VARIABLE) == "1" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NoSkips(), "ostinato-no-skips")


class NoSkips:
    """Collects what did not run for real and fails the session for it."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "wasxfail"):
            self._found[report.nodeid] = f"marked xfail: {report.wasxfail}"
        elif report.skipped:
            self._found[report.nodeid] = f"skipped: {_reason(report)}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._found[report.nodeid] = f"skipped at collection: {_reason(report)}"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._found and session.exitstatus in (pytest.ExitCode.OK, 5):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._found:
            terminalreporter.section(f"{VARIABLE}=1: {len(self._found)} did not run", red=True)
            for name, why in sorted(self._found.items()):
                terminalreporter.write_line(f"{name}  {why}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
