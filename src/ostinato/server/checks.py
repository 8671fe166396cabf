"""Checks of a server's settings before it starts, so that mistakes do not cause a 500 later."""

from __future__ import annotations

import logging
import math
import os
import re
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from ..cli.service_registry import load_services_module
from ..errors import AgentFileError
from ..hosting.loader import make_plugins
from ..hosting.log_setup import LogFormat
from ..hosting.places import DEFAULT_DB, places_of, traces_file
from ..hosting.setup_error import SetupError
from ..hosting.store_address import MEMORY, parse_artifacts, parse_memory, parse_store
from ..hosting.stores import SERVED_KINDS, engine_of
from ..telemetry.export import check_export
from ..tools import policy as policies
from .proxies import TrustedProxies
from .security import REGEX
from .server_services import is_registered
from .settings import ServerSettings

# Text settings, and what to write there.
_TEXTS = {
    "db": "a path or a URL, such as sessions.db",
    "artifacts": "a folder, gs://BUCKET or memory://",
    "memory": "a path such as memories.db, agentengine://ID or memory://",
    "traces": "a path such as traces.db, or off",
    "host": "an address, such as 127.0.0.1",
    "url_prefix": "a path, such as /agents, or '' for none",
    "log_level": "a level, such as info",
}
_OPTIONAL = ("artifacts", "memory", "traces")
_MORE_THAN_0 = (
    "lease_seconds",
    "request_timeout",
    "heartbeat",
    "write_timeout",
    "header_timeout",
    "keep_alive",
)
_AT_LEAST_0 = ("grace", "drain_delay")
_AT_LEAST_1 = (
    "workers",
    "max_body",
    "max_upload",
    "max_parts",
    "live_backlog",
    "max_connections",
    "rate_limit",
)
_WHOLE = (*_AT_LEAST_1, "port")
_FLAGS = (
    "reload",
    "allow_app_state",
    "developer",
    "access_log",
    "metrics",
    "contents",
    "page",
    "a2a",
    "auto_create_session",
    "stand_in",
)
_SEVERAL = ("allow_origins", "allow_hosts", "trusted_proxies", "allow_code_from", "plugins")
_PREFIX = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[\w.~-]+)*/?", re.ASCII)
_MOST_WORKERS = 256
_SHORTEST_LEASE, _LONGEST_LEASE = 0.05, 3600  # seconds
_NO_DISK = (("/", "proc"), ("/", "sys"))  # `os.access` says that root may write there
_TOKEN = re.compile(r"[!-~]+")
_HOST_NAME = re.compile(r"\*|\[[0-9A-Fa-f:.]+\]|[\w.-]+")
_HOST = re.compile(r"[\w.:-]+", re.ASCII)
_LAST_PORT = 65_535
_TRACE = "TRACE"  # uvicorn's own


def check_settings(settings: ServerSettings) -> None:
    """Refuse settings that are not valid, alone or in combination.

    Raises:
      SetupError: a setting is not valid.
    """
    if not isinstance(settings, ServerSettings):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SetupError(
            "A server is made of settings: write make_app(ServerSettings(agents='FOLDER')), "
            f"not make_app({settings!r:.100})."
        )
    _check_kinds(settings)
    load_services_module(settings.agents)  # registers the schemes that the next checks accept
    _check_numbers(settings)
    _check_bounds(settings)
    _check_access(settings)
    _check_origins(settings)
    _check_paths(settings)
    _check_log(settings)
    make_plugins(settings.plugins)
    check_export()
    if settings.workers > 1 and settings.reload:
        raise SetupError(
            f"--reload cannot be used with --workers {settings.workers}: each process would reload "
            "its apps at a different time. Use one worker, or --no-reload."
        )
    if settings.workers > 1 and settings.db.startswith(MEMORY):
        raise SetupError(
            f"--workers {settings.workers} needs sessions that all processes share, but "
            f"--db {MEMORY} belongs to one process: name a SQLite file or a database."
        )


def _check_kinds(settings: ServerSettings) -> None:
    """Refuse settings of a wrong type, such as text for a flag: any text would count as true."""
    for name in _FLAGS:
        value: Any = getattr(settings, name)
        if not isinstance(value, bool):
            raise SetupError(f"{name} has to be True or False, not {value!r}.")
    for name in _SEVERAL:
        value = getattr(settings, name)
        if not isinstance(value, tuple | list) or not all(
            isinstance(one, str) and one
            for one in value  # pyright: ignore[reportUnknownVariableType]
        ):
            raise SetupError(f"{name} has to be a tuple of names, not {value!r}.")
    for name, remedy in _TEXTS.items():
        value = getattr(settings, name)
        if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
            raise SetupError(f"{name} has to be {remedy}, not {value!r}.")
    for name in ("agents", "policy", "ui"):
        value = getattr(settings, name)
        if not isinstance(value, Path) and not (value is None and name != "agents"):
            what = "file" if name == "policy" else "folder"
            raise SetupError(f"{name} has to be the path of a {what}, not {value!r}.")
    for name in settings.allow_code_from:
        if not all(part.isidentifier() for part in name.split(".")):
            raise SetupError(
                f"allow_code_from takes modules such as my_package.tools, not {name!r}."
            )


def _check_numbers(settings: ServerSettings) -> None:
    for name in (*_MORE_THAN_0, *_AT_LEAST_0, *_WHOLE):
        value: Any = getattr(settings, name)
        if name == "rate_limit" and value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise SetupError(f"{name} has to be a number, not {value!r}.")
        if not math.isfinite(value):
            raise SetupError(f"{name} has to be finite, not {value}.")
        if name in _WHOLE and not isinstance(value, int):
            raise SetupError(f"{name} has to be a whole number, not {value}.")
        if name in _MORE_THAN_0 and not value > 0:
            raise SetupError(f"{name} has to be more than 0, not {value}.")
        if name in _AT_LEAST_1 and not value >= 1:
            raise SetupError(f"{name} has to be 1 or more, not {value}.")
        if name in _AT_LEAST_0 and not value >= 0:
            raise SetupError(f"{name} has to be 0 or more, not {value}.")
        if name == "port" and not 0 <= value <= _LAST_PORT:
            raise SetupError(f"port has to be 0 to {_LAST_PORT}, not {value}.")
    if settings.max_upload < settings.max_body:
        raise SetupError(
            f"max_upload ({settings.max_upload}) is for bodies with files in them, so it has to be "
            f"max_body ({settings.max_body}) or more."
        )


def _check_bounds(settings: ServerSettings) -> None:
    """Refuse extreme numbers of processes and lease lengths."""
    if settings.workers > _MOST_WORKERS:
        raise SetupError(f"--workers has to be 1 to {_MOST_WORKERS}, not {settings.workers}.")
    if not _SHORTEST_LEASE <= settings.lease_seconds <= _LONGEST_LEASE:
        raise SetupError(
            f"--lease has to be {_SHORTEST_LEASE} to {_LONGEST_LEASE} seconds, not "
            f"{settings.lease_seconds}."
        )


def _check_access(settings: ServerSettings) -> None:
    given: Any = settings.token
    if given is not None and not isinstance(given, str | tuple | list):
        raise SetupError("token has to be text, or a tuple of texts.")
    tokens = settings.tokens
    if not tokens and not settings.is_on_loopback:
        raise SetupError(
            f"Other machines can reach a server bound to {settings.host}: set a token for its "
            "clients (OSTINATO_TOKEN, or --token), or bind it to 127.0.0.1 behind a proxy that "
            "authenticates them."
        )
    if given is not None and not tokens:
        raise SetupError("token is empty; leave it out to serve without a token.")
    for one in tokens:
        if not isinstance(one, str) or not _TOKEN.fullmatch(one):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SetupError(
                "A token has to be ASCII text without blanks, because clients send it in a header."
            )
    for name in settings.allow_hosts:
        if not _HOST_NAME.fullmatch(name):
            raise SetupError(f"--allow-host takes a name without scheme and port, not {name!r}.")
    TrustedProxies(settings.trusted_proxies)


def _check_origins(settings: ServerSettings) -> None:
    """Refuse values that no browser sends as an origin."""
    for origin in settings.allow_origins:
        if origin.startswith(REGEX):
            try:
                re.compile(origin[len(REGEX) :])
            except re.error as error:
                raise SetupError(
                    f"--allow-origin {origin!r} is not a regular expression: {error}."
                ) from error
        elif origin not in ("*", "null") and origin != _origin_in(origin):
            raise SetupError(
                "--allow-origin takes origins such as https://a.example, in lower case and without "
                f"a path, or {REGEX}PATTERN for several: not {origin!r}."
            )


def _origin_in(text: str) -> str | None:
    """Return the origin of a URL as browsers write it, or None if it has none."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        return None
    if not host or not _HOST.fullmatch(host):
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}" + ("" if port is None else f":{port}")


def _check_policy(file: Path | None) -> None:
    try:
        if file is not None:
            policies.load_policy(file)
    except AgentFileError as error:
        raise SetupError(f"--policy: {error}", missing=True) from error


def _check_paths(settings: ServerSettings) -> None:
    if not settings.agents.expanduser().is_dir():
        raise SetupError(f"{settings.agents} is not a folder with agents.", missing=True)
    if settings.ui is not None and not (settings.ui / "index.html").is_file():
        raise SetupError(
            f"--ui-dir {settings.ui} is not a folder with an index.html.", missing=True
        )
    _check_policy(settings.policy)
    _check_store(settings)
    prefix = settings.url_prefix
    if prefix and not prefix.startswith("/"):
        raise SetupError(f"--url-prefix has to begin with a slash, unlike {prefix!r}.")
    if not _PREFIX.fullmatch(prefix):
        raise SetupError(f"--url-prefix has to be a path such as /agents, not {prefix!r}.")
    for option, value in (("--db", settings.db), ("--memory", settings.memory)):
        if value and "://" not in value and Path(value).expanduser().is_dir():
            raise SetupError(f"{option} {value} is a folder; name a file in it.")
    artifacts = settings.artifacts
    if artifacts and "://" not in artifacts and Path(artifacts).expanduser().is_file():
        raise SetupError(f"--artifacts {artifacts} is a file; name a folder.")
    if artifacts is not None and not is_registered("artifact", artifacts):
        parse_artifacts(artifacts)
    if settings.memory is not None and not is_registered("memory", settings.memory):
        kind, target = parse_memory(settings.memory)
        if kind == "agent engine":
            engine_of(target)
    traces_file(settings.traces, places_of(DEFAULT_DB))
    _check_writable(settings)


def _check_store(settings: ServerSettings) -> None:
    """Refuse an unknown session store, or a read-only one."""
    if not is_registered("session", settings.db):
        if parse_store(settings.db, kinds=SERVED_KINDS).is_read_only:
            raise SetupError(
                "--db names a read-only SQLite file, but a server writes sessions: leave out "
                "mode=ro and immutable=1, or name another store."
            )


def _check_writable(settings: ServerSettings) -> None:
    """Refuse a location for memories or artifacts that cannot be written."""
    wanted: list[tuple[str, Path]] = []
    memory, artifacts = settings.memory, settings.artifacts
    if memory is not None and not is_registered("memory", memory):
        kind, target = parse_memory(memory)
        if kind == "file":
            wanted.append(("--memory", Path(target).expanduser()))
    if artifacts is not None and not is_registered("artifact", artifacts):
        kind, target = parse_artifacts(artifacts)
        if kind == "folder":
            wanted.append(("--artifacts", Path(target).expanduser()))
    for option, place in wanted:
        there = place
        while not os.path.lexists(there) and there != there.parent:
            there = there.parent
        if (
            place.parts[:2] in _NO_DISK
            or not os.access(there, os.W_OK)
            or (there != place and not there.is_dir())
        ):
            raise SetupError(f"{option} {place} cannot be written; name another path.")


def _check_log(settings: ServerSettings) -> None:
    levels = {*logging.getLevelNamesMapping(), _TRACE}
    if settings.log_level.upper() not in levels:
        raise SetupError(f"log_level {settings.log_level!r} does not exist; write info.")
    forms = get_args(LogFormat)
    if settings.log_format not in forms:
        raise SetupError(f"log_format has to be {' or '.join(forms)}, not {settings.log_format!r}.")
