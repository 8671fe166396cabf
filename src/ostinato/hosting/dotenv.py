"""Reader of `.env` files, whose NAME=value lines go into the environment of the process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .setup_error import SetupError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


def read_env(text: str) -> dict[str, str]:
    """Return the variables that a text sets.

    Raises:
      ValueError: a line is neither empty, a comment nor NAME=value; it names the line's number.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} is not NAME=value")
        found[match[1]] = _parse_value(match[2])
    return found


def _parse_value(text: str) -> str:
    if text[:1] in ("'", '"'):
        quote = text[0]
        end = text.find(quote, 1)
        if end > 0:
            inner = text[1:end]
            return inner.replace("\\n", "\n") if quote == '"' else inner
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def load_env(folder: Path) -> list[str]:
    """Set the variables of `folder/.env` that are not set yet.

    Returns:
      The names that were set; never values.

    Raises:
      SetupError: the file cannot be read.
    """
    file = folder / ".env"
    if not file.is_file():
        return []
    try:
        found = read_env(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"{file} cannot be read: {error}.") from error
    new = {name: value for name, value in found.items() if name not in os.environ and value}
    os.environ.update(new)
    return sorted(new)
