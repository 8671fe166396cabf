"""Builds the wheel and the sdist of a release, checks both, and stops before uploading.

    python -m tests.install.release dist                what `make release` runs
    python -m tests.install.release dist --unfinished   try it before all is committed

The version, the changelog and the tag have to agree, the wheel and the sdist have to install on
every Python of this machine, and a wheel built from the sdist has to hold the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tests.install.pythons import pythons
from tests.install.run import ROOT, Failed, environment, run, try_program
from tests.page.wheel import missing


def find_problems(root: Path, status: str, tags: str) -> list[str]:
    """Return what speaks against a release, apart from the tests.

    Args:
      root: the folder of the source.
      status: what `git status --porcelain` prints.
      tags: what `git tag --points-at HEAD` prints.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version: str = project["version"]
    stated = (root / "src/ostinato/version.py").read_text(encoding="utf-8")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    problems: list[str] = []
    if status.strip():
        problems.append("There are changes that are not committed.")
    if "metadata" not in stated and version not in stated:
        problems.append(f"src/ostinato/version.py does not say {version}.")
    if not re.search(rf"^## \[?{re.escape(version)}\b", changes, re.MULTILINE):
        problems.append(f"CHANGELOG.md has no section {version}.")
    if f"v{version}" not in tags.split():
        problems.append(f"The commit has no tag v{version}.")
    return problems


def build_both(folder: Path) -> tuple[Path, Path]:
    """Build sdist and wheel into a folder and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    run("build", [sys.executable, "-m", "uv", "build", "--out-dir", str(folder), str(ROOT)])
    wheel = max(folder.glob("ostinato-*.whl"), key=lambda path: path.stat().st_mtime)
    sdist = max(folder.glob("ostinato-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    return sdist, wheel


def list_differences(one: Path, other: Path) -> list[str]:
    """Return the files of two wheels that only one has, or whose content differs."""

    def read(wheel: Path) -> dict[str, str]:
        with zipfile.ZipFile(wheel) as inside:
            names = [name for name in inside.namelist() if not name.endswith("RECORD")]
            return {name: hashlib.sha256(inside.read(name)).hexdigest() for name in names}

    first, second = read(one), read(other)
    return sorted(name for name in first.keys() | second if first.get(name) != second.get(name))


def check_built(sdist: Path, wheel: Path, folder: Path) -> None:
    """Check the files of a release in clean environments on every Python.

    Raises:
      Failed: one of the checks failed.
    """
    if lacks := missing(wheel):
        raise Failed(f"the wheel lacks {', '.join(lacks)}")
    again = folder / "again"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    run("wheel from the sdist", [*pip, "--wheel-dir", str(again), str(sdist)])
    if differ := list_differences(wheel, next(again.glob("*.whl"))):
        raise Failed(f"the sdist makes another wheel: {', '.join(differ[:10])}")
    for number, python in enumerate(pythons()):
        for kind, file in (("wheel", wheel), ("sdist", sdist)):
            inside = environment(folder / f"{number}-{kind}", python)
            what = f"{kind}, {python}"
            run(f"{what}: install", [inside, "-m", "pip", "install", "--quiet", str(file)])
            try_program(inside, what)


def main() -> int:
    """Build and check a release; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for wheel and sdist")
    parser.add_argument("--unfinished", action="store_true", help="report problems, and go on")
    options = parser.parse_args()
    git = ["git", "-C", str(ROOT)]
    try:
        status = run("git status", [*git, "status", "--porcelain"])
        problems = find_problems(ROOT, status, run("tags", [*git, "tag", "--points-at", "HEAD"]))
        for problem in problems:
            print(problem, file=sys.stderr)
        if problems and not options.unfinished:
            return 1
        sdist, wheel = build_both(options.folder)
        with tempfile.TemporaryDirectory() as place:
            check_built(sdist, wheel, Path(place))
    except (Failed, subprocess.SubprocessError) as failure:
        print(failure, file=sys.stderr)
        return 1
    for file in (sdist, wheel):
        print(hashlib.sha256(file.read_bytes()).hexdigest(), file)
    print('Nothing was uploaded. Go on with docs/releasing.md, "Publish".')
    return 0


if __name__ == "__main__":
    sys.exit(main())
