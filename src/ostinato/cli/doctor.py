"""The command `ostinato doctor`: what is installed, which keys are set, what is missing."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

from ..errors import OstinatoError
from ..hosting.dotenv import read_env
from ..hosting.setup_error import SetupError
from ..hosting.store_address import StoreAddress, mask_secrets, parse_store
from ..models.packaged_models import list_packaged_models
from ..models.providers import PROVIDERS
from ..skills.check import check_skills
from ..version import __version__
from .cli_error import FAILED, CliError
from .models import state_of, state_of_class, title_of
from .screen import Screen
from .session_index import existing_store, list_entries

_CORE = (
    "pydantic",
    "typing-extensions",
    "opentelemetry-api",
    "httpx2",
    "rich",
    "prompt_toolkit",
)

# Distribution -> Ostinato's extra that installs it, and its use. The providers' table adds theirs.
_OPTIONAL: dict[str, tuple[str, str]] = {
    **{
        provider.module.replace(".", "-"): (provider.extra, f"{provider.title} models")
        for provider in reversed(PROVIDERS)
        if provider.module
    },
    "opentelemetry-sdk": ("otel", "traces"),
    "opentelemetry-exporter-otlp-proto-http": ("otel", "sending traces and metrics"),
    "mcp": ("mcp", "tools over MCP"),
    "sqlalchemy": ("sql", "sessions in a database server"),
    "pyyaml": ("yaml", "agents in YAML files"),
    "google-adk": ("", "runs beside Ostinato; nothing here needs it"),
}

# What else a login with Google takes.
_GOOGLE_CLOUD = (
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
)
_KEYS = tuple(dict.fromkeys([key for p in PROVIDERS for key in p.keys] + [*_GOOGLE_CLOUD]))

_COLD = (
    "import time; start = time.perf_counter(); "
    "from ostinato.agents import Agent; from ostinato.runners import Runner; "
    "from ostinato.sessions import InMemorySessionService; "
    "print(time.perf_counter() - start)"
)

_GOOD, _OPEN, _BAD = ("✓ ", "green"), ("· ", "dim"), ("✗ ", "red")
_WIDTH = 40


def main(args: argparse.Namespace) -> int:
    """Write the report; return 1 if the store named by `--db` cannot be used, else 0.

    With a folder of skills, the report is about these, and 1 says that one has a fault.
    """
    screen = Screen()
    if args.skills_dir is not None:
        return 0 if _check_skills(screen, Path(args.skills_dir)) else FAILED
    _python(screen)
    _packages(screen)
    _keys(screen)
    _models(screen)
    return 0 if _store(screen, args.db) else FAILED


def _row(screen: Screen, mark: tuple[str, str], name: str, text: str, style: str = "") -> None:
    screen.line(mark, f"{name:<{_WIDTH}}", (text, style), indent=2)


def _title(screen: Screen, text: str) -> None:
    screen.line()
    screen.line((text, "bold"))


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _python(screen: Screen) -> None:
    screen.line(("Python", "bold"))
    fits = sys.version_info >= (3, 11)
    text = f"{platform.python_version()} at {sys.executable}"
    _row(screen, _GOOD if fits else _BAD, "python", text if fits else f"{text}; 3.11 is needed")
    _row(screen, _GOOD, "system", f"{platform.system()} {platform.machine()}")
    done = subprocess.run(
        [sys.executable, "-c", _COLD], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["unknown error"]
        _row(screen, _BAD, "cold import", f"fails: {reason[0]}", "red")
    else:
        seconds = float(done.stdout)
        _row(screen, _GOOD, "cold import", f"{seconds * 1000:.0f} ms for Agent, Runner, sessions")


def _packages(screen: Screen) -> None:
    _title(screen, "Packages")
    own = _find_version("ostinato")
    _row(
        screen,
        _GOOD,
        "ostinato",
        __version__ if own else f"{__version__}, used from its source, not installed",
    )
    for name in _CORE:
        found = _find_version(name)
        if found:
            _row(screen, _GOOD, name, found)
        else:
            _row(screen, _BAD, name, f"missing; install it: pip install {name}", "red")
    extras = metadata("ostinato").get_all("Provides-Extra") if own else None
    for name, (extra, purpose) in _OPTIONAL.items():
        found = _find_version(name)
        if found:
            _row(screen, _GOOD, name, found)
        elif extra:
            what = f"'ostinato[{extra}]'" if extra in (extras or ()) else name
            _row(screen, _OPEN, name, f"not installed ({purpose}): pip install {what}", "dim")


def _keys(screen: Screen) -> None:
    _title(screen, "Keys (names only)")
    try:
        in_file = read_env(Path(".env").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        in_file = {}
    found = 0
    for name in _KEYS:
        if os.environ.get(name):
            _row(screen, _GOOD, name, "set in the environment")
        elif in_file.get(name):
            _row(screen, _OPEN, name, "in ./.env; read for agents of this folder only", "dim")
        else:
            continue
        found += 1
    if not found:
        names = ", ".join(("GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"))
        _row(screen, _OPEN, "none", f"looked for {names} and {len(_KEYS) - 3} more", "dim")


def _models(screen: Screen) -> None:
    _title(screen, "Models")
    _row(screen, _GOOD, "offline stand-in", "available")
    for provider in PROVIDERS:
        if provider.lack:
            _row(screen, _OPEN, provider.title, state_of(provider), "dim")
        elif not provider.needs_key and provider.url:  # a server that may or may not run
            key = f"{provider.key_name} is set" if provider.key_name else "no key needed"
            _row(screen, _OPEN, provider.title, f"{key}; not checked: {provider.url}")
        else:
            _row(screen, _GOOD, provider.title, f"ready: {state_of(provider)}")
    for packaged in list_packaged_models():
        mark, style = (_BAD, "red") if packaged.problem else (_GOOD, "")
        _row(screen, mark, title_of(packaged), state_of_class(packaged), style)
    screen.line(("ostinato models tells more.", "dim"), indent=2)


def _store(screen: Screen, db: str) -> bool:
    """Show the store; return whether it can be used."""
    _title(screen, "Sessions")
    enough = sqlite3.sqlite_version_info >= (3, 35)
    text = sqlite3.sqlite_version if enough else f"{sqlite3.sqlite_version}; 3.35 is needed"
    _row(screen, _GOOD if enough else _BAD, "sqlite", text)
    problem = _wal_problem(Path())
    if problem:
        hint = f"{problem}; keep sessions elsewhere with --db"
        _row(screen, _BAD, "write-ahead log", hint, "red")
    else:
        _row(screen, _GOOD, "write-ahead log", "works in this folder")
    try:
        address = parse_store(db)
    except SetupError as error:
        _row(screen, _BAD, "store", mask_secrets(error.message), "red")
        return False
    file = Path(address.target)
    if address.kind == "file" and not file.exists():
        _row(screen, _OPEN, "store", f"{address.shown}: no sessions yet", "dim")
        return True
    size = f", {file.stat().st_size:,} bytes" if address.kind == "file" else ""
    try:
        asyncio.run(_ask(address))
    except (CliError, SetupError, OstinatoError) as error:
        _row(screen, _BAD, "store", f"{address.shown}: {error}".replace("db_url", "--db"), "red")
        return False
    _row(screen, _GOOD, "store", f"{address.shown} answers{size}")
    return True


def _check_skills(screen: Screen, folder: Path) -> bool:
    """Show the faults of the skills in a folder; return whether there are none."""
    try:
        found = check_skills(folder)
    except OstinatoError as error:
        raise CliError(str(error)) from error
    screen.line((f"Skills in {folder}", "bold"))
    if not found:
        _row(screen, _OPEN, "none", "no folder or archive here has a SKILL.md", "dim")
    for name, faults in found.items():
        _row(screen, _BAD if faults else _GOOD, name, "" if faults else "keeps the format")
        for fault in faults:
            screen.line(fault, indent=4)
    return not any(found.values())


async def _ask(address: StoreAddress) -> None:
    async with existing_store(address) as store:
        await list_entries(store, None, None, 1)


def _wal_problem(folder: Path) -> str:
    """Try a write-ahead log in a folder; return what is wrong, or ''."""
    try:
        with tempfile.TemporaryDirectory(prefix=".ostinato-doctor-", dir=folder) as place:
            with closing(sqlite3.connect(Path(place) / "try.db")) as connection:
                (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
                connection.execute("CREATE TABLE t(a)")
    except (OSError, sqlite3.Error) as error:
        return f"fails in this folder ({error})"
    return "" if mode == "wal" else f"is not kept in this folder (the mode stays {mode})"
