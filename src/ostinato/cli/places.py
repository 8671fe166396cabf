"""Where the command line keeps things, and how a person calls it. Called by the commands."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .failure import CliError

HOME = ".ostinato"
DEFAULT_DB = f"{HOME}/sessions.db"
DEFAULT_USER = "user"


@dataclass(frozen=True, slots=True)
class Places:
    """Files of one store.

    Attributes:
      db: the SQLite file of the sessions.
      artifacts: folder of the artifacts, beside it.
      history: what was typed at the prompt.
      traces: the SQLite file of the spans.
    """

    db: Path
    artifacts: Path
    history: Path
    traces: Path


def places_of(db: str) -> Places:
    """Return the places that belong to a database file."""
    path = Path(db).expanduser()
    folder = path.parent
    return Places(path, folder / "artifacts", folder / "history", folder / "traces.db")


def make_folder(places: Places) -> None:
    """Make the folder that holds the database, closed to version control where it is our own.

    Raises:
      CliError: it cannot be made.
    """
    folder = places.db.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if folder.name == HOME and not ignore.exists():
            ignore.write_text("# sessions may hold what nobody else should read\n*\n", "utf-8")
    except OSError as error:
        raise CliError(
            f"The folder {folder} for the sessions cannot be made ({error.strerror}). "
            "Name another file with --db."
        ) from error


def program() -> str:
    """Return what to type to run this program again, here and now."""
    name = sys.argv[0]
    if os.path.basename(name) in ("__main__.py", "-m", "-c", ""):
        return "python -m ostinato"
    found = shutil.which("ostinato")
    if found is not None and os.path.realpath(found) == os.path.realpath(name):
        return "ostinato"
    if os.path.basename(name) != "ostinato":
        return "ostinato"  # inside another program, such as a test
    return os.path.relpath(name)
