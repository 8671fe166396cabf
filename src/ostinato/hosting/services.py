"""The services behind a command or a server: the session store that `--db` names, and a runner over
it."""

from __future__ import annotations

import re
from typing import Any

from ..artifacts.file_artifact_service import FileArtifactService
from ..errors import InputValidationError
from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..runners import Runner
from ..sessions.base_session_service import BaseSessionService
from ..sessions.database_session_service import DatabaseSessionService
from ..sessions.sqlite_session_service import SqliteSessionService
from .loader import Loaded
from .places import DEFAULT_DB, Places, make_folder, places_of

Store = SqliteSessionService | DatabaseSessionService
THROUGH_ALIAS = (
    "This agent imports google.adk, which Ostinato stands in for here. As in google-adk, plain "
    "`def` tools run on the event loop, one at a time."
)
AGENT_ENGINE = "agentengine://"
_ENGINE = re.compile(
    r"(?:projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/reasoningEngines/)?"
    r"(?P<agent_engine_id>[^/]+)"
)
_SQLITE = ("sqlite:///", "sqlite+aiosqlite:///")


def engine_of(uri: str) -> dict[str, str | None]:
    """Return project, location and id of the engine that an `agentengine://` URI names.

    It names an id, or a full resource name.

    Raises:
      InputValidationError: it is neither.
    """
    found = _ENGINE.fullmatch(uri.removeprefix(AGENT_ENGINE).strip("/"))
    if found is None:
        raise InputValidationError(
            f"{uri!r} names no Agent Engine: write {AGENT_ENGINE}ID, or {AGENT_ENGINE}projects/"
            "PROJECT/locations/LOCATION/reasoningEngines/ID."
        )
    return found.groupdict()


def store_of(db: str) -> tuple[Store, Places]:
    """Open the store that `--db` names, a file or a URL, and find the places beside it.

    Raises:
      SetupError: the file's folder cannot be made.
      InputValidationError: it is a URL that names no database.
      MissingExtraError: what the URL's database needs is not installed.
    """
    if "://" in db and not db.startswith(_SQLITE):
        return DatabaseSessionService(db), places_of(DEFAULT_DB)
    for prefix in _SQLITE:
        db = db.removeprefix(prefix)
    places = places_of(db)
    make_folder(places)
    return SqliteSessionService(places.db), places


def runner_of(
    loaded: Loaded, sessions: BaseSessionService, places: Places, **options: Any
) -> Runner:
    """Return a runner for a loaded agent, with files beside the sessions."""
    services: dict[str, Any] = {
        "session_service": sessions,
        "artifact_service": FileArtifactService(places.artifacts),
        "memory_service": InMemoryMemoryService(),
        **options,
    }
    if loaded.app is not None:
        return Runner(app=loaded.app, **services)
    return Runner(agent=loaded.root, app_name=loaded.app_name, **services)
