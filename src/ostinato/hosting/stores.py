"""Services for sessions, artifacts, memories and spans, opened from the options of a command."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from shlex import quote
from typing import Any, cast

from ..artifacts.base_artifact_service import BaseArtifactService
from ..artifacts.file_artifact_service import FileArtifactService
from ..artifacts.gcs_artifact_service import GcsArtifactService
from ..artifacts.in_memory_artifact_service import InMemoryArtifactService
from ..errors import InputValidationError, StoreError
from ..memory.base_memory_service import BaseMemoryService
from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..memory.sqlite_memory_service import SqliteMemoryService
from ..memory.vertex_ai_memory_bank_service import VertexAiMemoryBankService
from ..sessions.base_session_service import BaseSessionService
from ..sessions.database_session_service import DatabaseSessionService
from ..sessions.in_memory_session_service import InMemorySessionService
from ..sessions.sqlite_session_service import SqliteSessionService
from ..sessions.store.effect_ledger import EffectSettings
from ..sessions.vertex_ai_session_service import VertexAiSessionService
from ..telemetry.recorder import install
from ..telemetry.span_store import SqliteSpanStore
from .places import Places, make_folder
from .setup_error import SetupError
from .store_address import (
    AGENT_ENGINE,
    MEMORY,
    Kind,
    StoreAddress,
    parse_artifacts,
    parse_memory,
    parse_store,
)

Store = SqliteSessionService | DatabaseSessionService
SERVED_KINDS: tuple[Kind, ...] = ("file", "server", "memory", "agent engine")
# What google-adk's tables have in all of their versions.
_DATABASE_TABLES = {"sessions", "events", "app_states", "user_states"}
_COPY = "sessions.db"
_ENGINE = re.compile(
    r"(?:projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/reasoningEngines/)?"
    r"(?P<agent_engine_id>[^/]+)"
)


def engine_of(uri: str) -> dict[str, str | None]:
    """Return project, location and id of the engine that an `agentengine://` URI names.

    The URI holds an id or a full resource name.

    Raises:
      SetupError: the URI holds neither.
    """
    found = _ENGINE.fullmatch(uri.removeprefix(AGENT_ENGINE).strip("/"))
    if found is None:
        raise SetupError(
            f"{uri!r} does not name an Agent Engine: write {AGENT_ENGINE}ID, or "
            f"{AGENT_ENGINE}projects/PROJECT/locations/LOCATION/reasoningEngines/ID."
        )
    return found.groupdict()


def store_of(db: str) -> tuple[Store, Places]:
    """Open the session store that `--db` names; return it with the files beside it.

    Raises:
      SetupError: the URL is not a store's, or the file's folder cannot be made.
      MissingExtraError: the driver of the URL's database is not installed.
    """
    address = parse_store(db)
    make_folder(address.find_places())
    return open_store(address), address.find_places()


def open_store(address: StoreAddress, options: Mapping[str, Any] | None = None) -> Store:
    """Return the session service of a file or a database server, not yet connected.

    Args:
      address: the file or server.
      options: keyword arguments for the engine of a server.

    Raises:
      SetupError: the URL cannot be read, its `effects=` is not on, off or chained, or the file
        has the tables of DatabaseSessionService.
      MissingExtraError: the driver of the URL's database is not installed.
    """
    if address.kind == "file":
        refuse_database_file(address)
        query, effects = _split_effects(address.query)
        url = f"sqlite:///{address.target}?{query}" if query else address.target
        return SqliteSessionService(url, effects=effects)
    place, _, query = address.target.partition("?")
    query, effects = _split_effects(query)
    url = f"{place}?{query}" if query else place
    try:
        return DatabaseSessionService(url, effects=effects, **(options or {}))
    except InputValidationError as error:
        raise SetupError(f"{address.shown} cannot be read as the URL of a database.") from error


def has_database_tables(file: Path) -> bool:
    """Return whether google-adk or DatabaseSessionService wrote a SQLite file."""
    if not file.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error:
        return False  # the store says what is wrong with the file
    return version == 0 and names >= _DATABASE_TABLES


def refuse_database_file(address: StoreAddress) -> None:
    """Refuse a SQLite file with the tables of google-adk, which the command line does not open.

    Raises:
      SetupError: google-adk or DatabaseSessionService wrote the file.
    """
    if address.kind != "file" or not has_database_tables(Path(address.target)):
        return
    target = _COPY if Path(address.target).name != _COPY else "copy.db"
    raise SetupError(
        f"{address.target!r} was written by DatabaseSessionService or google-adk. Copy it: "
        f"`ostinato migrate --from {quote(address.target)} --to {target}`, and use "
        f"--db {target}."
    )


def _split_effects(query: str) -> tuple[str, EffectSettings | None]:
    """Return a URL's query without `effects=`, and how the store keeps its effects ledger.

    Raises:
      SetupError: the value is not `on`, `off` or `chained`.
    """
    effects: EffectSettings | None = EffectSettings()
    kept: list[str] = []
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name != "effects":
            kept.append(pair)
        elif value not in ("on", "off", "chained"):
            raise SetupError(
                f"--db has effects={value}; the effects ledger can be on, off or chained."
            )
        else:
            effects = None if value == "off" else EffectSettings(chained=value == "chained")
    return "&".join(kept), effects


def open_sessions(db: str, options: Mapping[str, Any] | None = None) -> BaseSessionService:
    """Return the session service of a path or a URL, for a server.

    Args:
      db: the path or URL.
      options: keyword arguments for the engine of a database server.

    Raises:
      SetupError: the URL is not a store's, or its store takes no options.
      MissingExtraError: the driver of the URL's database is not installed.
    """
    address = parse_store(db, kinds=SERVED_KINDS)
    if address.kind == "server":
        return open_store(address, options)
    if options:
        raise SetupError(
            f"{address.shown} takes no options ({', '.join(options)}); they are for the engine of "
            "a database server. Leave them out."
        )
    if address.kind == "memory":
        return InMemorySessionService()
    if address.kind == "agent engine":
        return VertexAiSessionService(**engine_of(address.target))
    return open_store(address)


def open_artifacts(wanted: str | None, places: Places | None) -> BaseArtifactService:
    """Return the artifact service that `--artifacts` names.

    Args:
      wanted: a folder, `gs://BUCKET` or `memory://`; None for the folder beside the sessions.
      places: the files beside the sessions; None if those are in memory.

    Raises:
      SetupError: `wanted` does not name an artifact store, or no files can be kept beside the
        sessions.
    """
    if wanted is None:
        return InMemoryArtifactService() if places is None else open_files_beside(places)
    kind, target = parse_artifacts(wanted)
    if kind == "memory":
        return InMemoryArtifactService()
    if kind == "bucket":
        return cast(BaseArtifactService, GcsArtifactService(target))
    return FileArtifactService(Path(target))


def open_files_beside(places: Places) -> FileArtifactService:
    """Return the artifact service in the folder beside the sessions.

    Raises:
      SetupError: the folder cannot be used; the message names the file of the sessions.
    """
    try:
        return FileArtifactService(places.artifacts)
    except StoreError as error:
        raise SetupError(
            f"No files can be kept beside the database {places.db}: {error} Name another file "
            "with --db."
        ) from error


def open_memories(wanted: str | None, places: Places | None) -> BaseMemoryService:
    """Return the memory service that `--memory` names.

    Args:
      wanted: a SQLite file, `agentengine://ID` or `memory://`; None for one beside the sessions.
      places: the files beside the sessions; None if those are in memory.

    Raises:
      SetupError: `wanted` does not name a memory store.
    """
    if wanted is None and places is not None:
        return SqliteMemoryService(places.db.with_name("memories.db"))
    kind, target = parse_memory(MEMORY if wanted is None else wanted)
    if kind == "memory":
        return InMemoryMemoryService()
    if kind == "agent engine":
        return VertexAiMemoryBankService(**engine_of(target))
    return SqliteMemoryService(target)


@asynccontextmanager
async def keep_spans(file: Path | None) -> AsyncGenerator[None]:
    """Record the spans of the runs within a block in a file; None records nothing."""
    if file is None:
        yield
        return
    spans = SqliteSpanStore(file)
    take_out = install(spans)
    try:
        yield
    finally:
        take_out()
        await spans.close()
