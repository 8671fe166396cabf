"""Where sessions and files are kept where nothing else is said. Called by services and commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .failure import SetupError

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
      SetupError: it cannot be made.
    """
    folder = places.db.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if folder.name == HOME and not ignore.exists():
            ignore.write_text("# sessions may hold what nobody else should read\n*\n", "utf-8")
    except OSError as error:
        raise SetupError(
            f"The folder {folder} for the sessions cannot be made ({error.strerror}). "
            "Name another file with --db."
        ) from error
