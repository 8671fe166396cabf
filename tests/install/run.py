"""Installs the wheel as users do, in clean environments, and runs it there.

    python -m tests.install.run                 what `make packages` runs
    python -m tests.install.run --each --pip    each extra, by uv and by pip, on every Python (long)

Every extra has to resolve, by uv, and `all` by pip, too; a plain install has to import, to run
`ostinato doctor` and one agent, without its source files too, and as PyInstaller's one file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.install.pythons import pythons
from tests.page.wheel import build, missing

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")
# A quiet machine takes one tenth of it; a resolver that backtracks takes a quarter of an hour.
_RESOLVE_SECONDS = 300

_QUIET = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": ""}


class Failed(Exception):
    """A step did not do what it has to."""


def extras() -> list[str]:
    """Return the names of the extras, without the developers' own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"] if name != "dev"]


def run(what: str, command: list[str], *, limit: float = 600) -> str:
    """Run a command and return its output; print how long it took.

    Raises:
      Failed: it failed or took longer than the limit, in seconds.
    """
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command, env=_QUIET, cwd=tempfile.gettempdir(), capture_output=True, text=True,
            timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{what}: longer than {limit:.0f} s") from error
    print(f"{what}: {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode:
        raise Failed(f"{what} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def environment(folder: Path, python: str) -> str:
    """Make an empty environment and return its interpreter."""
    run("venv", [python, "-m", "venv", str(folder)])
    return str(folder / "bin" / "python")


def try_program(python: str, what: str) -> None:
    """Import the package, run `ostinato doctor` and one agent."""
    if "It is sunny in Rome." not in run(f"{what}: run", [python, str(PROGRAM)]):
        raise Failed(f"{what}: the agent did not answer")
    run(f"{what}: doctor", [python, "-m", "ostinato.cli.main", "doctor"])


def resolve(folder: Path, wheel: Path) -> None:
    """Resolve each extra with uv, and all of them with pip within a minute."""
    python = environment(folder, sys.executable)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--dry-run", "--python", python]
    for extra in extras():
        run(f"uv, {extra}", [*uv, f"{wheel}[{extra}]"], limit=_RESOLVE_SECONDS)
    pip = [python, "-m", "pip", "install", "--quiet", "--dry-run"]
    run("pip, all", [*pip, f"{wheel}[all]"], limit=_RESOLVE_SECONDS)


def install(folder: Path, wheel: Path, python: str, installer: str, extra: str) -> str:
    """Install the wheel in a new environment, try it, and return the environment's interpreter."""
    inside = environment(folder, python)
    by = [inside, "-m", "pip", "install", "--quiet"]
    if installer == "uv":
        by = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", inside]
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    version = run("version", [python, "-c", "import sys; print(sys.version[:4])"]).strip()
    what = f"{installer}, Python {version}, {extra or 'plain'}"
    run(f"{what}: install", [*by, wanted])
    try_program(inside, what)
    return inside


def without_sources(python: str) -> None:
    """Leave an installation its bytecode alone, and try it."""
    found = run("place", [python, "-c", "import ostinato; print(ostinato.__file__)"])
    folder = Path(found.strip()).parent
    run("compile", [python, "-m", "compileall", "-q", "-b", str(folder)])
    for source in folder.rglob("*.py"):
        source.unlink()
    try_program(python, "bytecode alone")


def one_file(folder: Path, python: str) -> None:
    """Make one file of the program with PyInstaller, and run it."""
    run("pyinstaller: install", [python, "-m", "pip", "install", "--quiet", "pyinstaller"])
    options = ["--onefile", "--collect-submodules", "ostinato", "--copy-metadata", "ostinato"]
    places = [f"--{name}path={folder / name}" for name in ("dist", "work", "spec")]
    run("pyinstaller", [python, "-m", "PyInstaller", *options, *places, str(PROGRAM)])
    if "It is sunny in Rome." not in run("one file", [str(folder / "dist" / "program")]):
        raise Failed("the one file did not answer")


def steps(each: bool, by_pip: bool, wheel: Path, folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield installer, interpreter and extra of each installation to make."""
    for python in pythons():
        yield "uv", python, ""
        if by_pip:
            yield "pip", python, ""
            yield "pip", python, "all"
        for extra in extras() if each else ():
            yield "uv", python, extra


def main() -> int:
    """Run what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", action="store_true", help="install each extra")
    parser.add_argument("--pip", action="store_true", help="install by pip too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            wheel = build(folder)
            if lacks := missing(wheel):
                raise Failed(f"the wheel lacks {', '.join(lacks)}")
            resolve(folder / "resolve", wheel)
            for number, step in enumerate(steps(options.each, options.pip, wheel, folder)):
                installer, python, extra = step
                install(folder / str(number), wheel, python, installer, extra)
            inside = install(folder / "own", wheel, sys.executable, "pip", "")
            one_file(folder, inside)
            without_sources(inside)
        except Failed as failure:
            print(failure, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
