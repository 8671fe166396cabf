"""The interpreters of this machine from Python 3.11 on, one of each minor version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_OLDEST = (3, 11)
_ASK = "import sys; print(*sys.version_info[:2], sys.executable)"


def pythons() -> list[str]:
    """Return the interpreters' paths, oldest version first: those on PATH, then pyenv's."""
    found: dict[tuple[int, ...], str] = {}
    for path in _candidates():
        asked = subprocess.run([path, "-c", _ASK], capture_output=True, text=True)
        if asked.returncode:
            continue  # pyenv's name of an interpreter that is not chosen here
        major, minor, executable = asked.stdout.strip().split(" ", 2)
        version = (int(major), int(minor))
        if version >= _OLDEST:
            found.setdefault(version, executable)
    return [found[version] for version in sorted(found)]


def _candidates() -> list[str]:
    names = [f"python3.{minor}" for minor in range(_OLDEST[1], _OLDEST[1] + 9)]
    on_path = [path for name in names if (path := shutil.which(name))]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [
        *on_path,
        *(str(p / "bin/python") for p in sorted(root.glob("*")) if re.match(r"3\.\d+", p.name)),
    ]
