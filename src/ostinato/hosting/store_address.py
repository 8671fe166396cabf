"""Addresses of stores, as options and environment variables give them: a path or a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from .places import DEFAULT_DB, Places, places_of
from .setup_error import SetupError

AGENT_ENGINE = "agentengine://"
MEMORY = "memory://"
_FOLDER = "file://"
_BUCKET = "gs://"
_SQLITE = "sqlite:///"

Kind = Literal["file", "server", "memory", "agent engine"]

# Scheme of a URL -> the driver that the store uses.
_SERVERS = {
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "mysql": "mysql+aiomysql",
    "mysql+aiomysql": "mysql+aiomysql",
    "mysql+asyncmy": "mysql+asyncmy",
    "mariadb": "mariadb+aiomysql",
    "mariadb+aiomysql": "mariadb+aiomysql",
    "mariadb+asyncmy": "mariadb+asyncmy",
}
_FILES = ("sqlite", "sqlite+aiosqlite")
_FORMS = (
    "Write a path such as sessions.db, sqlite:///sessions.db, "
    "postgresql://user@host/database or mysql://user@host/database"
)
_ARTIFACT_FORMS = "Write a folder, gs://BUCKET or memory://"
_MEMORY_FORMS = (
    "Write a path such as memories.db, sqlite:///memories.db, agentengine://ID or memory://"
)
_WORD = re.compile(r"[^\s'\"]+")
_END_OF_USER = re.compile(r"[:/@]")
# `user:password@host/database`, a URL whose scheme was forgotten.
_BARE_PASSWORD = re.compile(r"^([^\s:/\\@'\"]*):[^\s'\"]*@(?=[^/\\@\s]+(?:[/?]|$))")
_SECRET_PARAMETER = re.compile(
    r"(?i)([?&;][\w.-]*(?:password|passwd|pwd|secret|token|key)=)[^\s&;#'\"]+"
)


def mask_secrets(text: str) -> str:
    """Return a text in which the passwords of URLs are replaced by `***`."""
    if "://" not in text:
        return _BARE_PASSWORD.sub(r"\1:***@", text)
    return _SECRET_PARAMETER.sub(r"\1***", _WORD.sub(_mask_password, text))


def _mask_password(word: re.Match[str]) -> str:
    """Return a word without the password of the first URL in it that has one.

    A password may contain `@`, `/` and `:`, so everything up to the word's last `@` is masked.
    """
    text = word[0]
    last, start = text.rfind("@"), text.find("://")
    while 0 <= start < last:
        end = _END_OF_USER.search(text, start + len("://"))
        if end is not None and end[0] == ":" and end.end() <= last:
            return f"{text[: end.end()]}***{text[last:]}"
        start = text.find("://", start + 1)
    return text


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """The address of a session store.

    Attributes:
      kind: a SQLite file, a database server, this process's memory, or Vertex AI's Agent Engine.
      target: the file's path, or the URL with its driver; it may contain a password.
      shown: the same without passwords, for output and messages.
      query: parameters of SQLite's URIs for a file, such as `mode=ro`.
    """

    kind: Kind
    target: str = field(repr=False)
    shown: str
    query: str = ""

    @property
    def is_read_only(self) -> bool:
        """Whether the parameters make the file read-only."""
        return not {"mode=ro", "immutable=1"}.isdisjoint(self.query.split("&"))

    def find_places(self) -> Places:
        """Return the files beside the store; for a database server, those in the working folder."""
        return places_of(self.target if self.kind == "file" else DEFAULT_DB)


def parse_store(db: str, *, kinds: tuple[Kind, ...] = ("file", "server")) -> StoreAddress:
    """Return the session store that a path or a URL names.

    Args:
      db: the value of `--db` or OSTINATO_DB.
      kinds: the kinds of stores that the command can use.

    Raises:
      SetupError: the URL is not a store's, or the command cannot use that store.
    """
    address = _parse_address(db)
    if address.kind not in kinds:
        raise SetupError(
            f"{address.shown} cannot be used here: {_why_not(address.kind)}. {_FORMS}."
        )
    return address


def parse_artifacts(wanted: str) -> tuple[Literal["folder", "bucket", "memory"], str]:
    """Return the kind of artifact store that `--artifacts` names, and its path or bucket.

    Raises:
      SetupError: it does not name an artifact store.
    """
    if wanted.startswith(MEMORY):
        return "memory", MEMORY
    if wanted.startswith(_BUCKET) and wanted.removeprefix(_BUCKET).strip("/"):
        return "bucket", wanted.removeprefix(_BUCKET).strip("/")
    path = wanted.removeprefix(_FOLDER)
    if "://" in path or (wanted != path and not path.startswith("/")) or not path.strip():
        raise _unusable_address(
            "--artifacts", wanted, "artifacts", f"{_ARTIFACT_FORMS}, or file:///PATH."
        )
    return "folder", path


def parse_memory(wanted: str) -> tuple[Literal["file", "agent engine", "memory"], str]:
    """Return the kind of memory store that `--memory` names, and its path or address.

    Raises:
      SetupError: it does not name a memory store.
    """
    if wanted.startswith(MEMORY):
        return "memory", MEMORY
    if wanted.startswith(AGENT_ENGINE):
        return "agent engine", wanted
    path = wanted.removeprefix(_SQLITE)
    if "://" in path or not path.strip():
        raise _unusable_address("--memory", wanted, "memories", f"{_MEMORY_FORMS}.")
    return "file", path


def _unusable_address(option: str, wanted: str, of: str, remedy: str) -> SetupError:
    if not wanted.strip():
        return SetupError(f"{option} is empty. {remedy}")
    return SetupError(f"{option} {mask_secrets(wanted)} does not name a store of {of}. {remedy}")


def _parse_address(db: str) -> StoreAddress:
    if not db.strip():
        raise SetupError(f"--db is empty. {_FORMS}.")
    shown = mask_secrets(db)
    scheme, separator, rest = db.partition("://")
    if not separator:
        return _parse_path(db)
    scheme = scheme.lower()
    if scheme == "memory":
        return StoreAddress("memory", MEMORY, MEMORY)
    if scheme == "agentengine":
        return StoreAddress("agent engine", AGENT_ENGINE + rest, shown)
    if scheme in _FILES:
        return _parse_sqlite(rest, shown)
    driver = _SERVERS.get(scheme)
    if driver is None:
        raise SetupError(f"--db names {scheme!r}, which is not a session store: {shown}. {_FORMS}.")
    if not rest.partition("?")[0].rpartition("@")[2].partition("/")[2].strip("/"):
        raise SetupError(f"{shown} names no database; write it after the host: .../database")
    if driver.endswith("+asyncpg"):
        rest = _use_asyncpg_names(rest)
    return StoreAddress("server", f"{driver}://{rest}", shown)


def _parse_path(db: str) -> StoreAddress:
    """Return the address of a path; refuse a URL without its slashes."""
    scheme = db.partition(":")[0].lower()
    if ":" in db and (scheme in _SERVERS or scheme in (*_FILES, "memory", "agentengine")):
        raise SetupError(f"--db begins with '{scheme}:' without '//' after it. {_FORMS}.")
    if _BARE_PASSWORD.match(db):
        hidden = mask_secrets(db)
        raise SetupError(
            f"--db {hidden} looks like a URL without a scheme; write postgresql://{hidden} or "
            f"mysql://{hidden} with the password. A file of that name is ./{hidden}."
        )
    return StoreAddress("file", str(Path(db).expanduser()), db)


def _parse_sqlite(rest: str, shown: str) -> StoreAddress:
    path, _, query = rest.partition("?")
    if not path.startswith("/"):
        raise SetupError(f"{shown} has two slashes; write sqlite:///sessions.db with three.")
    if path[1:] in ("", ":memory:") or "mode=memory" in query:
        raise SetupError(f"{shown} names no file, so its sessions would be lost. {_FORMS}.")
    return StoreAddress("file", path[1:], shown, query)


def _use_asyncpg_names(rest: str) -> str:
    """Rename libpq's parameter `sslmode` to asyncpg's `ssl`."""
    before, mark, query = rest.partition("?")
    if not mark or "sslmode=" not in query:
        return rest
    pairs = [("ssl" if k == "sslmode" else k, v) for k, v in parse_qsl(query, True)]
    return f"{before}?{urlencode(pairs)}"


def _why_not(kind: Kind) -> str:
    if kind == "memory":
        return "it is lost when its process ends"
    if kind == "agent engine":
        return "only `ostinato serve`, `web` and `mcp` support an Agent Engine"
    return "it is of another kind"
