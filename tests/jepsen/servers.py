"""Database servers of a run's own, which can be paused, stopped, killed and started again.

PostgreSQL and MariaDB run from the installed binaries, with their default durability, on data in
a temporary folder; the machine's own servers are never touched.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.jepsen.network import Network
from tests.support.throwaway_postgres import postgres_binaries

_START_SECONDS = 90.0
_STOP_SECONDS = 30.0


def find_program(*names: str) -> str | None:
    """Return the path of the first of these programs that is installed."""
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    found = (shutil.which(name, path=places) for name in names)
    return next((each for each in found if each), None)


def end_with_parent(command: Sequence[str]) -> list[str]:
    """Return a command that is killed when its starter dies, where the system can do that."""
    program = find_program("setpriv")
    return [program, "--pdeathsig", "KILL", *command] if program else list(command)


class Server(ABC):
    """A server process over a folder.

    Args:
      network: where it runs.
      port: a free port there.

    Attributes:
      log: the file that it writes its messages to.
    """

    account: str
    ready: str  # what its log says once it takes connections

    def __init__(self, network: Network, port: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ostinato-jepsen-"))
        self.network, self.port = network, port
        self._process: subprocess.Popen[bytes] | None = None
        self.log = self.folder / "log"
        self._paused: list[int] = []
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def prepare(self) -> None:
        """Make its data."""

    @abstractmethod
    def build_command(self) -> list[str]:
        """Return the command that runs it in the foreground."""

    @property
    @abstractmethod
    def url(self) -> str:
        """An empty database on it."""

    def start(self) -> None:
        """Start it and wait until it takes connections; a killed one first has to recover.

        Raises:
          RuntimeError: it does not start.
        """
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            before = self.log.stat().st_size if self.log.exists() else 0
            with self.log.open("ab") as log:
                command = self.network.wrap_server(end_with_parent(self.build_command()))
                self._process = subprocess.Popen(
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            while self._process.poll() is None and time.monotonic() < deadline:
                if self.ready.encode() in self.log.read_bytes()[before:]:
                    return
                time.sleep(0.02)
            time.sleep(0.1)  # what a killed one has left is still in use
        raise RuntimeError(f"The server does not start: {self.log.read_text()[-2000:]}")

    def stop(self, how: signal.Signals) -> None:
        """End it; with SIGKILL, all of its processes at once."""
        process = self._process
        if process is None:
            return
        if how == signal.SIGKILL:
            for pid in self._find_processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
        else:
            process.send_signal(how)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None

    def kill(self) -> None:
        """Kill all of its processes at once."""
        self.stop(signal.SIGKILL)

    @abstractmethod
    def stop_cleanly(self) -> None:
        """End it in its own way; connections are closed."""

    def pause(self) -> None:
        """Stop all of its processes in the middle of their work."""
        self._paused = self._find_processes()
        for pid in self._paused:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let them continue."""
        for pid in self._paused:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._paused = []

    def _find_processes(self) -> list[int]:
        """Return its process and the children of that."""
        if self._process is None:
            return []
        own = self._process.pid
        with suppress(OSError):
            children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
            return [own, *map(int, children)]
        return [own]

    def close(self) -> None:
        """End it and remove its data."""
        self.resume()
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _as_account(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs as the server's account, if the caller is root."""
        if os.geteuid() != 0:
            return list(command)
        user = self._find_account()
        program = find_program("setpriv")
        if program is None:
            raise RuntimeError("setpriv (util-linux) is needed to run a server for root.")
        ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
        # Changed ids clear the signal at the parent's death, so it is set once more.
        return [program, *ids, "--pdeathsig", "KILL", *command]

    def _find_account(self) -> pwd.struct_passwd:
        names = {each.pw_name for each in pwd.getpwall()}
        return pwd.getpwnam(self.account if self.account in names else "nobody")

    def _lend_folder(self) -> None:
        if os.geteuid() == 0:
            user = self._find_account()
            os.chown(self.folder, user.pw_uid, user.pw_gid)

    def _execute(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            self._as_account(command), cwd=self.folder, capture_output=True, text=True, timeout=180
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")


class PostgresServer(Server):
    """A PostgreSQL server."""

    account = "postgres"
    ready = "database system is ready to accept connections"

    def prepare(self) -> None:
        """See `Server`."""
        binaries = postgres_binaries()
        if binaries is None:
            raise RuntimeError("PostgreSQL's server is not installed.")
        self._binaries, self._data = binaries, self.folder / "data"
        self._lend_folder()
        init = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self._execute([str(binaries / "initdb"), "-D", str(self._data), *init])
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet trust\n")

    def build_command(self) -> list[str]:
        """See `Server`."""
        settings = (f"listen_addresses={self.network.host}", "unix_socket_directories=")
        options = [word for each in settings for word in ("-c", each)]
        program = str(self._binaries / "postgres")
        return self._as_account([program, "-D", str(self._data), "-p", str(self.port), *options])

    @property
    def url(self) -> str:
        """See `Server`."""
        return f"postgresql+asyncpg://postgres@{self.network.host}:{self.port}/postgres"

    def stop_cleanly(self) -> None:
        """See `Server`."""
        self.stop(signal.SIGINT)


class MariadbServer(Server):
    """A MariaDB server.

    It closes connections that rest for eight seconds: after a silent cut, the locks of a client
    that has gone would stay until then (docs/durability.md).
    """

    account = "mysql"
    ready = "ready for connections"

    def prepare(self) -> None:
        """See `Server`."""
        install, server = find_program("mariadb-install-db"), find_program("mariadbd", "mysqld")
        if install is None or server is None:
            raise RuntimeError("MariaDB's server is not installed.")
        self._server, self._data = server, self.folder / "data"
        self._lend_folder()
        (self.folder / "begin.sql").write_text(
            "CREATE DATABASE IF NOT EXISTS test;\n"
            "CREATE USER IF NOT EXISTS root@'%';\n"
            "GRANT ALL ON *.* TO root@'%';\n"
        )
        make = ("--auth-root-authentication-method=normal", "--skip-test-db")
        self._execute([install, "--no-defaults", f"--datadir={self._data}", *make])

    def build_command(self) -> list[str]:
        """See `Server`."""
        options = {
            "datadir": self._data,
            "port": self.port,
            "bind-address": self.network.host,
            "socket": self.folder / "socket",
            "pid-file": self.folder / "pid",
            "init-file": self.folder / "begin.sql",
            "wait-timeout": 8,
            "innodb-buffer-pool-size": "64M",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        return self._as_account([self._server, "--no-defaults", "--skip-name-resolve", *words])

    @property
    def url(self) -> str:
        """See `Server`."""
        return f"mysql+aiomysql://root@{self.network.host}:{self.port}/test"

    def stop_cleanly(self) -> None:
        """See `Server`."""
        self.stop(signal.SIGTERM)


SERVERS = {"postgres": PostgresServer, "mariadb": MariadbServer}
