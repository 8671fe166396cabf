"""A PostgreSQL server for tests where none runs: made in a temporary folder from the installed
binaries, one for each process that runs tests, ended with it."""

from __future__ import annotations

import functools
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

_PROGRAMS = ("initdb", "pg_ctl", "postgres")
_INSTALLED = Path("/usr/lib/postgresql")
_FAST = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off"
_kept = ExitStack()


def pytest_unconfigure() -> None:
    """End the shared server."""
    shared.cache_clear()
    _kept.close()


@functools.cache
def shared(binaries: Path) -> str:
    """Start this process's server where it does not run yet; return its URL."""
    return _kept.enter_context(throwaway_postgres(binaries))


def postgres_binaries(installed: Path = _INSTALLED) -> Path | None:
    """Find the folder with the server's programs: on PATH, else the newest that is installed."""
    found = shutil.which("initdb")
    versions = sorted(installed.glob("*/bin"), key=lambda each: _number(each.parent.name))
    folders = [Path(found).resolve().parent] if found else []
    for folder in (*folders, *reversed(versions)):
        if all(os.access(folder / name, os.X_OK) for name in _PROGRAMS):
            return folder
    return None


@contextmanager
def throwaway_postgres(binaries: Path) -> Iterator[str]:
    """Run a new server on a free port of the loopback interface; yield its URL.

    PostgreSQL refuses to run for root, so root lends it to the user `postgres`, or to `nobody`.
    """
    folder = Path(tempfile.mkdtemp(prefix="ostinato-postgres-"))
    user = _user()
    try:
        if user:
            shutil.chown(folder, user["user"], user["group"])
        data, port = folder / "data", find_free_port()

        def call(program: str, *args: str) -> None:
            command = [str(binaries / program), "-D", str(data), *args]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=120, **user
            )
            if done.returncode:
                log = folder / "log"
                told = log.read_text() if log.exists() else ""
                raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}{told}")

        call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {_FAST}"
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+asyncpg://postgres@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _user() -> Mapping[str, Any]:
    if os.geteuid() != 0:
        return {}
    names = {each.pw_name for each in pwd.getpwall()}
    account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def find_free_port() -> int:
    """Return a port that is free, and no client gets meanwhile: theirs begin higher."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _number(version: str) -> float:
    try:
        return float(version)
    except ValueError:
        return 0.0
