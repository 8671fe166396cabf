"""Runs the programs and prints, as JSON, what each one prints and how it ends.

    python tests/programs/play.py [--alias [--force]] [--trace] [AREA or AREA/NAME ...]

With --alias `google.adk` is Ostinato, else the google-adk that is installed. A program named
`test_...` is run by pytest. A program that needs a package which is not installed is left out.
--trace prints why a program fails.
"""

import contextlib
import io
import json
import logging
import os
import runpy
import sys
import tempfile
import traceback
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(path for path in HERE.glob("*/*.py"))
NEEDS = {
    "database": "sqlalchemy",
    "fast_api_app": "httpx",
    "fastapi_schemes": "fastapi",
    "own_server": "starlette",
    "telemetry": "opentelemetry.sdk",
    "yaml_agent": "yaml",
}
PYTEST = [
    *("-q", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:unraisableexception"),
    *("-p", "pytest_asyncio.plugin"),
    *("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"),
]
# Settings of the caller that would reach the programs.
SETTINGS = ("ADK_", "GEMINI_", "GOOGLE_", "OPENAI_", "OSTINATO_", "OTEL_", "PYTEST_")


def find_programs(asked: list[str]) -> list[Path]:
    """Return the programs that were asked for, or all, without those whose needs are missing."""
    found = [path for path in PROGRAMS if not asked or {*asked} & _names_of(path)]
    return [path for path in found if path.stem not in NEEDS or _is_there(NEEDS[path.stem])]


def _names_of(path: Path) -> set[str]:
    return {path.parent.name, f"{path.parent.name}/{path.stem}"}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Outcomes:
    """A pytest plugin that keeps how each test ended."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.lines.append("not collected")

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.lines.append(f"{report.nodeid.split('::', 1)[1]} {report.outcome}")


def run_tests(path: Path) -> str:
    """Run a program of pytest style; return one line per test."""
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    outcomes, said = Outcomes(), io.StringIO()
    with contextlib.redirect_stdout(said):
        pytest.main([*PYTEST, "--rootdir", str(path.parent), str(path)], plugins=[outcomes])
    if "--trace" in sys.argv:
        sys.stderr.write(said.getvalue())
    return "\n".join(outcomes.lines)


def run_script(path: Path) -> str:
    """Run a script; return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except (Exception, SystemExit) as error:
            print(f"ended by {type(error).__name__}")
            if "--trace" in sys.argv:
                traceback.print_exc()
    return out.getvalue()


def play(path: Path) -> list[str]:
    """Run one program in a folder of its own; return the lines that it prints."""
    sys.modules.pop("showing", None)  # it counts ids from the program's start
    environment, modules, search = dict(os.environ), set(sys.modules), list(sys.path)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            text = run_tests(path) if path.stem.startswith("test_") else run_script(path)
        finally:
            os.chdir(HERE)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[:] = search
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
                del sys.modules[name]
    return text.splitlines()


def main() -> None:
    asked = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        del os.environ[name]
    sys.path.insert(0, str(HERE))
    if "--alias" in sys.argv:
        import ostinato.compat

        ostinato.compat.install(force="--force" in sys.argv)
    else:
        warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(json.dumps({path.stem: play(path) for path in find_programs(asked)}))


if __name__ == "__main__":
    main()
