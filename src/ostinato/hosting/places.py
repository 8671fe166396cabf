"""Default locations of sessions, artifacts and spans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._private_files import create_private_file, make_private_folders
from .setup_error import SetupError

HOME = ".ostinato"
DEFAULT_DB = f"{HOME}/sessions.db"
DEFAULT_USER = "user"
TRACES_OFF = "off"


@dataclass(frozen=True, slots=True)
class Places:
    """The files beside one session store.

    Attributes:
      db: the SQLite file of the sessions.
      artifacts: folder of the artifacts.
      history: the prompt's input history.
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
    """Make the folder of the database; the default folder is excluded from version control.

    Raises:
      SetupError: the folder cannot be made.
    """
    folder = places.db.parent
    try:
        make_private_folders(folder)
        ignore = folder / ".gitignore"
        if folder.name == HOME and not ignore.exists():
            create_private_file(ignore)
            ignore.write_text("# sessions may hold private data\n*\n", "utf-8")
    except OSError as error:
        raise SetupError(
            f"The folder {folder} for the sessions cannot be created ({error.strerror}). "
            "Name another file with --db."
        ) from error


def traces_file(wanted: str | None, places: Places) -> Path | None:
    """Return the file of the spans, or None if none are kept.

    Args:
      wanted: the value of `--traces`: a path, `off`, or None for the file beside the sessions.
      places: the files beside the sessions.

    Raises:
      SetupError: the path is not a file in an existing folder.
    """
    if wanted is None:
        return places.traces
    if wanted == TRACES_OFF:
        return None
    file = Path(wanted).expanduser()
    if not wanted.strip() or "://" in wanted or not file.parent.is_dir() or file.is_dir():
        raise SetupError(
            f"--traces {wanted or 'is empty and'} does not name a file in an existing folder; give "
            f"a path such as traces.db, or {TRACES_OFF}."
        )
    return file
