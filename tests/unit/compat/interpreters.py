"""Runs Python in processes of their own: with google-genai and without, with google-adk installed,
real or pretended, and without. Warnings are errors in all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pydantic
import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCE = str(ROOT / "src")
SITE = Path(pydantic.__file__).resolve().parents[1]
LIMIT = 120  # seconds; a machine that does other work too


def adk_python() -> str:
    """The interpreter that has google-adk 2.3.0 installed."""
    named = os.environ.get("OSTINATO_ADK_PYTHON") or os.environ.get("BENCH_PY_ADK23")
    found = named or str(ROOT / ".venvs" / "adk23" / "bin" / "python")
    if not Path(found).exists():
        pytest.skip(f"{found} is not there; make it with: python bench/setup_peers.py adk23")
    return found


def without_google(folder: Path) -> str:
    """A folder that holds all that is installed here but what is named google."""
    folder.mkdir(exist_ok=True)
    for entry in SITE.iterdir():
        if not entry.name.startswith(("google", "__")):
            (folder / entry.name).symlink_to(entry)
    return str(folder)


def run(
    *arguments: str,
    code: str | None = None,
    path: tuple[str, ...] = (),
    bare: bool = False,
    python: str = sys.executable,
    cwd: Path | None = None,
    warnings: str = "error",
) -> str:
    """Run Python and return what it printed; its failure fails the test.

    Args:
      arguments: what follows the interpreter and its options.
      code: a program's text instead of arguments.
      path: search path besides this package's source.
      bare: leave out what is installed; `path` then has to bring it.
      python: another interpreter.
      cwd: the process's folder.
      warnings: Python's -W option.
    """
    done = attempt(
        *arguments, code=code, path=path, bare=bare, python=python, cwd=cwd, warnings=warnings
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def attempt(
    *arguments: str,
    code: str | None = None,
    path: tuple[str, ...] = (),
    bare: bool = False,
    python: str = sys.executable,
    cwd: Path | None = None,
    warnings: str = "error",
) -> "subprocess.CompletedProcess[str]":
    """Run Python as `run` does and return how it ended."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PYTHONPATH"] = os.pathsep.join([SOURCE, *path])
    options = ["-W", warnings, *(["-S"] if bare else [])]
    given = ["-c", code] if code is not None else list(arguments)
    return subprocess.run(
        [python, *options, *given],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
