"""Session stores that can be taken away and brought back while programs use them."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import make_url

from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.outage.proxy import Proxy
from tests.support.databases import new_database

STORES = ("sqlite", "postgres", "mariadb")


class Place(Protocol):
    """A store that can go away.

    Attributes:
      ways: names of the ways in which it goes.
    """

    ways: tuple[str, ...]

    def service(self) -> Any:
        """Make a session service over it, as another process would."""
        ...

    def take_away(self, way: str) -> None:
        """Let nothing more be stored."""
        ...

    def bring_back(self) -> None:
        """Let everything be stored again."""
        ...


class FilePlace:
    """An SQLite file in a folder.

    Args:
      folder: an empty folder.
    """

    ways: tuple[str, ...] = ("file", "folder", "full")

    def __init__(self, folder: Path) -> None:
        self._home, self._gone = folder / "home", folder / "gone"
        self._home.mkdir()
        self._way = ""

    def service(self) -> SqliteSessionService:
        """Make a session service over the file."""
        return SqliteSessionService(self._home / "sessions.db", synchronous="NORMAL")

    def take_away(self, way: str) -> None:
        """Rename the file or its folder, or let no file of this process grow."""
        self._way = way
        if way == "file":
            (self._home / "sessions.db").rename(self._home / "gone.db")
        elif way == "folder":
            self._home.rename(self._gone)
        else:
            self._limit_files(1)

    def bring_back(self) -> None:
        """Undo what took it away."""
        if self._way == "file":
            (self._home / "gone.db").rename(self._home / "sessions.db")
        elif self._way == "folder":
            self._gone.rename(self._home)
        else:
            self._limit_files(resource.RLIM_INFINITY)

    def _limit_files(self, size: int) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


class ServerPlace:
    """A database of its own on a server, behind a proxy.

    Args:
      url: the database.
    """

    ways: tuple[str, ...] = ("cut", "drop")

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        standard = 5432 if parsed.drivername.startswith("postgresql") else 3306
        self._proxy = Proxy(parsed.host or "127.0.0.1", parsed.port or standard)
        behind = parsed.set(host="127.0.0.1", port=self._proxy.port)
        self._url = behind.render_as_string(hide_password=False)

    def service(self) -> DatabaseSessionService:
        """Make a session service that reaches the database through the proxy."""
        return DatabaseSessionService(self._url, reconnect_seconds=1.0)

    def take_away(self, way: str) -> None:
        """Drop all connections; refuse new ones too, if it is cut."""
        if way == "cut":
            self._proxy.cut()
        else:
            self._proxy.drop()

    def bring_back(self) -> None:
        """Take connections again."""
        self._proxy.restore()

    def close(self) -> None:
        """End the proxy."""
        self._proxy.close()


@contextmanager
def place_of(store: str) -> Iterator[Place]:
    """Make an empty store of a kind that can go away; remove it in the end."""
    if store == "sqlite":
        with tempfile.TemporaryDirectory(prefix="ostinato-outage-") as folder:
            yield FilePlace(Path(folder))
        return
    with new_database(store) as url:
        place = ServerPlace(url)
        try:
            yield place
        finally:
            place.close()
