"""Builds the wheel and tells what of the page it lacks: `python -m tests.page.wheel FOLDER`, which
`make wheel` calls, ends with 1 where there is something.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_INSIDE = "ostinato/server/page/"
_NEEDED = ("index.html", "assets/*.js", "assets/*.css")


def build(folder: Path) -> Path:
    """Build the wheel into a folder, with what the environment holds, and return its path."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", str(folder), str(ROOT)], check=True)
    return max(folder.glob("ostinato-*.whl"), key=lambda path: path.stat().st_mtime)


def missing(wheel: Path) -> list[str]:
    """Return what of the page a wheel lacks."""
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
    return [one for one in _NEEDED if not any(fnmatch(name, _INSIDE + one) for name in names)]


if __name__ == "__main__":
    made = build(Path(sys.argv[1]))
    lacks = missing(made)
    print(f"{made.name} lacks {', '.join(lacks)}: run `make page`." if lacks else made)
    sys.exit(bool(lacks))
