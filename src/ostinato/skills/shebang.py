"""How a skill's script is run: by its suffix, or by its shebang."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

PYTHON = "python"
SUFFIXES = {".py": (PYTHON,), ".sh": ("bash",), ".bash": ("bash",)}
_PYTHON = re.compile(r"python3?(\.\d+)?")


def is_text(data: bytes) -> bool:
    """Return whether a file is text in UTF-8."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def needs_shebang(path: str) -> bool:
    """Return whether only a shebang can say how a file below `scripts/` is run.

    Files with a suffix may be data or modules, as may those that are named like `LICENSE`.
    """
    name = PurePosixPath(path).name
    return "." not in name and not name[:1].isupper()


def read_command(path: str, source: str) -> tuple[str, ...] | None:
    """Return the words that run a script, without its path; `python` stands for this Python.

    Args:
      path: the script's path.
      source: its text.

    Returns:
      The words, or None if neither a shebang nor the suffix says how it is run.
    """
    first = source.removeprefix("\ufeff").partition("\n")[0].strip()
    if first.startswith("#!"):
        try:
            words = shlex.split(first[2:])
        except ValueError:
            words = []
        if words and PurePosixPath(words[0]).name == "env":
            words = [word for word in words[1:] if word != "-S"]
        if words:
            name = PurePosixPath(words[0]).name
            return (PYTHON if _PYTHON.fullmatch(name) else words[0], *words[1:])
    return SUFFIXES.get(PurePosixPath(path).suffix)
