"""A sandbox on Linux: wraps a command so that the kernel keeps it from the rest of the machine.

It works without a container and without root: by bubblewrap where that is installed, else by
namespaces that it makes itself, else by Landlock. `init_main` and `confine_main` do the work.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ...errors import AgentConfigError
from ..guarded_process import GuardedProcess

Mechanism = Literal["bubblewrap", "namespaces", "landlock"]
MECHANISMS: tuple[Mechanism, ...] = ("bubblewrap", "namespaces", "landlock")
# What a sandbox can protect: files of the machine, its networks, other processes; bounds of memory,
# of processes and of disk; and the filter of system calls.
PROTECTIONS = ("files", "network", "signals", "memory", "processes", "disk", "calls")

_HERE = Path(__file__).resolve().parent
_INIT, _CONFINE = _HERE / "init_main.py", _HERE / "confine_main.py"
_PLACE = "/sandbox"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "mime.types")
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
_CAPABILITIES = ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "CHOWN", "DAC_OVERRIDE", "FOWNER")
# Ids of users that no account has; one for each run, so that its processes are counted alone.
_FIRST_UID, _UIDS = 0x6000_0000, 1 << 24
_PROBE_SECONDS = 20.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a command in a sandbox may use.

    Attributes:
      memory_bytes: address space of each process.
      processes: processes and threads at once.
      disk_bytes: all files together, except under Landlock alone; they are kept in memory.
      file_bytes: a single file.
      cpu_seconds: CPU time of each process; None for no bound.
    """

    memory_bytes: int = 1024**3
    processes: int = 64
    disk_bytes: int = 128 * 1024**2
    file_bytes: int = 128 * 1024**2
    cpu_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """What came of one command.

    Attributes:
      holds: the protections that the kernel gave, of `PROTECTIONS`.
      status: the command's exit status; negative: number of the signal that ended it; None if it
        did not run to its end.
      error: why the sandbox could not be made; empty if it could.
    """

    holds: frozenset[str] = frozenset()
    status: int | None = None
    error: str = ""


class Sandbox:
    """A way to run commands with little reach; it holds nothing and may be used at once.

    Args:
      mechanism: how it is made.
      limits: what each command may use.
      readable: files and folders that commands can read beside the system's programs.
      required: protections without which no command starts.

    Raises:
      AgentConfigError: a readable path does not exist, or commands could reach a socket there.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        limits: SandboxLimits,
        readable: Sequence[Path] = (),
        required: Sequence[str] = (),
    ) -> None:
        self.mechanism = mechanism
        self.limits = limits
        self._readable = [resolve_dots(str(path.absolute())) for path in readable]
        self._required = list(required)
        for path in self._readable:
            if not Path(path).is_file() and not Path(path).is_dir():
                raise AgentConfigError(
                    f"The readable path {path!r} is neither a file nor a folder. Take it out of "
                    "readable_paths, or make it first."
                )
        if mechanism != "landlock":  # there no socket can be made
            self._refuse_sockets()

    def _refuse_sockets(self) -> None:
        """Refuse paths with a bound socket: a read-only mount lets a command connect to it."""
        for socket in _list_sockets() if self._readable else ():
            for path in self._readable:
                if Path(socket).is_relative_to(os.path.realpath(path)):
                    raise AgentConfigError(
                        f"The readable path {path!r} holds the socket {socket!r}, and code in the "
                        "sandbox could talk to its service. Name a folder without it."
                    )

    def wrap(self, words: Sequence[str], exchange: Path) -> list[str]:
        """Return the command that runs another one in the sandbox.

        Args:
          words: the command and its arguments; the command is an absolute path.
          exchange: a folder of this run alone. Its `work` is where the command starts; what it
            leaves there is brought back if it succeeds.
        """
        if self.mechanism == "landlock" and os.getuid() == 0:
            exchange.chmod(0o711)  # another user passes through it to `work`
        setup = self._describe([resolve_dots(words[0]), *words[1:]], exchange)
        init = [resolve_dots(sys.executable), "-I", "-S", str(_INIT), json.dumps(setup)]
        if self.mechanism == "bubblewrap":
            return [*_wrap_in_bubblewrap(str(exchange), setup["visible"], setup["links"]), *init]
        return init

    def read_report(self, exchange: Path) -> SandboxReport:
        """Return what came of the command; empty if the sandbox was ended from outside."""
        try:
            told = json.loads((exchange / "report.json").read_bytes())
        except (OSError, ValueError):
            return SandboxReport()
        return SandboxReport(
            frozenset(told.get("holds", ())), told.get("status"), str(told.get("error", ""))
        )

    def _describe(self, words: list[str], exchange: Path) -> dict[str, Any]:
        """Return what `init_main` has to know."""
        is_shared = self.mechanism == "landlock"
        base = str(exchange) if is_shared else _PLACE
        own = [f"{base}/{name}" for name in ("work", "home", "tmp")]
        visible = _list_visible(self._readable)
        links = {path: f"{_PLACE}/tmp" for path in ("/dev/shm", "/tmp")}
        if any(path.startswith("/tmp/") for path in visible):
            del links["/tmp"]
        links |= {path: os.readlink(path) for path in _SYSTEM if Path(path).is_symlink()}
        root = exchange / "root"
        root.mkdir(exist_ok=True)
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": own[1], "TMPDIR": own[2]}
        confinement = {
            "required": self._required,
            "is_shared": is_shared,
            "limits": self._list_limits(),
            "readable": visible if is_shared else ["/"],
            "writable": [*own, *_DEVICES],
        }
        return {
            "mechanism": self.mechanism,
            "exchange": str(exchange),
            "root": str(root),
            "visible": [*visible, *_DEVICES],
            "links": links,
            "uid": _FIRST_UID + secrets.randbelow(_UIDS),
            "disk_bytes": self.limits.disk_bytes,
            "confine": str(_CONFINE),
            "confinement": confinement,
            "cwd": own[0],
            "environment": environment,
            "words": words,
        }

    def _list_limits(self) -> dict[str, int]:
        limits = self.limits
        bounds = {
            "RLIMIT_CORE": 0,
            "RLIMIT_AS": limits.memory_bytes,
            "RLIMIT_FSIZE": min(limits.file_bytes, limits.disk_bytes),
            "RLIMIT_NPROC": limits.processes,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
        }
        if limits.cpu_seconds is not None:
            bounds["RLIMIT_CPU"] = limits.cpu_seconds
        return bounds


def open_sandbox(
    mechanism: Mechanism | None = None,
    *,
    limits: SandboxLimits,
    readable: Sequence[Path] = (),
    required: Sequence[str] = (),
) -> Sandbox:
    """Return a sandbox that this machine can run, and log what it protects.

    Args:
      mechanism: the one to use; the first that works by default.
      limits, readable, required: as for Sandbox.

    Raises:
      AgentConfigError: no mechanism gives all that is required; it says why for each. Or a readable
        path cannot be shown, as for Sandbox.
    """
    unknown = sorted(set(required) - set(PROTECTIONS))
    if unknown:
        raise AgentConfigError(
            f"Unknown protections {unknown}. A sandbox knows {', '.join(PROTECTIONS)}."
        )
    faults: list[str] = []
    for one in MECHANISMS if mechanism is None else (mechanism,):
        report = probe_sandbox(one)
        missing = [name for name in required if name not in report.holds]
        if not report.error and not missing:
            _log_protections(one, report.holds)
            return Sandbox(one, limits=limits, readable=readable, required=required)
        faults.append(f"{one}: {report.error or 'no protection of ' + ', '.join(missing)}")
    raise AgentConfigError(
        f"This machine cannot run the sandbox ({'; '.join(faults)}). Install bubblewrap or allow "
        "user namespaces, require less, or use BuiltInCodeExecutor."
    )


@functools.cache
def probe_sandbox(mechanism: Mechanism) -> SandboxReport:
    """Return what a mechanism protects on this machine, by running a program in it once."""
    if sys.platform != "linux":
        return SandboxReport(error="it needs Linux")
    if mechanism == "bubblewrap" and shutil.which("bwrap") is None:
        return SandboxReport(error="bwrap is not installed")
    sandbox = Sandbox(mechanism, limits=SandboxLimits(cpu_seconds=int(_PROBE_SECONDS)))
    output = bytearray()
    with tempfile.TemporaryDirectory(prefix="ostinato-") as name:
        exchange = Path(name)
        (exchange / "work").mkdir()
        process = GuardedProcess(
            sandbox.wrap([sys.executable, "-I", "-S", "-c", ""], exchange),
            cwd=exchange,
            home=exchange,
            stdout=output.extend,
            stderr=output.extend,
        )
        try:
            process.run()
        except OSError as error:
            return SandboxReport(error=error.strerror or type(error).__name__)
        report = sandbox.read_report(exchange)
    if report.error or report.status == 0:
        return report
    said = output.decode("utf-8", "replace").strip().splitlines()
    return SandboxReport(error=said[-1][:200] if said else "its program did not run")


def check_report(report: SandboxReport, said: str) -> str:
    """Return why a sandbox did not run its command; empty if it did.

    Args:
      report: what came of it.
      said: what was printed to stderr.
    """
    if report.error:
        return f"The sandbox could not be started: {report.error}."
    if report.status is None:
        return f"The sandbox ended early. {said[-200:].strip()}".strip()
    return ""


@functools.cache
def _log_protections(mechanism: Mechanism, holds: frozenset[str]) -> None:
    """Log once what a sandbox protects, and what it does not."""
    lacks = [name for name in PROTECTIONS if name not in holds]
    level = logging.WARNING if lacks else logging.INFO
    kept = ", ".join(name for name in PROTECTIONS if name in holds)
    _log.log(level, "Sandbox by %s protects %s; not %s", mechanism, kept, ", ".join(lacks) or "-")


def resolve_dots(path: str) -> str:
    """Return an absolute path without `..`, which cannot be mounted; its last part stays a link.

    A program that is called as `../venv/bin/python` has such paths of its interpreter.
    """
    if ".." not in path.split("/"):
        return path
    folder, name = os.path.split(path)
    return os.path.realpath(path) if name == ".." else os.path.join(os.path.realpath(folder), name)


def _list_visible(more: Sequence[str]) -> list[str]:
    """Return the files and folders that commands can read, without those within others."""
    child = _HERE.parent.parent / "code_executors" / "_child_main.py"
    wanted = [path for path in _SYSTEM if not Path(path).is_symlink()]
    wanted += [f"/etc/{name}" for name in _SETTINGS]
    prefixes = [resolve_dots(path) for path in (sys.prefix, sys.base_prefix)]
    wanted += [*prefixes, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)]
    wanted += [str(_HERE), str(child), *more]
    visible: list[str] = []
    for path in sorted(set(wanted), key=len):
        is_within = any(path.startswith(known + "/") for known in visible)
        if Path(path).exists() and not is_within:
            visible.append(path)
    return visible


def _list_sockets() -> list[str]:
    """Return the paths of the sockets that are bound on this machine, symbolic links resolved."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return []
    bound = [os.fsdecode(line.split(maxsplit=7)[7]) for line in lines if line.count(b"/")]
    return [os.path.realpath(path) for path in bound if path.startswith("/")]


def _wrap_in_bubblewrap(exchange: str, visible: list[str], links: dict[str, str]) -> list[str]:
    """Return the command line of bubblewrap up to the command."""
    words = [cast("str", shutil.which("bwrap")), "--die-with-parent", "--as-pid-1"]
    words += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--cap-drop", "ALL"]
    words += ["--unshare-user"] if os.getuid() != 0 else []
    # `init_main` uses them to bound the disk, and `confine_main` drops them.
    for name in (*_CAPABILITIES, "KILL"):
        words += ["--cap-add", f"CAP_{name}"]
    # By itself bubblewrap makes folders that only root can pass.
    parents = {str(folder) for path in [*visible, *links] for folder in Path(path).parents}
    for folder in sorted(parents - {"/"}, key=len):
        words += ["--perms", "0755", "--dir", folder]
    for path in visible:
        words += ["--dev-bind" if path.startswith("/dev/") else "--ro-bind", path, path]
    for path, target in links.items():
        words += ["--symlink", target, path]
    return [*words, "--bind", exchange, _PLACE, "--remount-ro", "/", "--"]
