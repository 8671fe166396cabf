"""DatabaseSessionService: the name; sessions in any SQL database are not built yet."""

from .._later_on import NotBuilt


class DatabaseSessionService(
    NotBuilt, part="the SQL stores", instead="SqliteSessionService('sessions.db')"
):
    """Sessions in a database that SQLAlchemy speaks to."""
