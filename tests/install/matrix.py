"""Runs the tests on every Python of this machine from 3.11 on, each in an environment of its own.

python -m tests.install.matrix tests/unit/tools   # with pytest's arguments
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.install.pythons import pythons
from tests.install.replays import compare_replays

ROOT = Path(__file__).resolve().parents[2]


def environment(python: str) -> str:
    """Install the package with its developers' extra, unless it is there, and return the Python."""
    made = (ROOT / "pyproject.toml").read_text() + (ROOT / "constraints.txt").read_text()
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    folder = ROOT / ".venvs" / ("py" + ".".join(version.split()[1].split(".")[:2]))
    inside, stamp = str(folder / "bin" / "python"), folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != made:
        print(f"{version.strip()}: installing ...", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", inside]
        limits = ["--constraint", str(ROOT / "constraints.txt")]
        subprocess.run([*uv, *limits, "--editable", f"{ROOT}[dev]"], check=True)
        stamp.write_text(made)
    return inside


def main() -> int:
    """Run the tests on each other Python; return the worst exit status.

    The seed of a simulation's failure has to do the same on all of them.
    """
    worst, inside = 0, list[str]()
    for python in pythons():
        if os.path.realpath(python) == os.path.realpath(sys.executable):
            continue
        inside.append(environment(python))
        command = [inside[-1], "-m", "pytest", "-q", "-m", "not service", *sys.argv[1:]]
        print(" ".join(command[3:]), "on", python.rpartition("/versions/")[2], flush=True)
        worst = max(worst, subprocess.run(command, cwd=ROOT).returncode)
    differing = compare_replays(inside)
    print(*differing, f"A failure's seed was replayed on {len(inside)} other Pythons.", sep="\n")
    return max(worst, 1 if differing else 0)


if __name__ == "__main__":
    sys.exit(main())
