"""The flags of a container that runs a model's code, and the names that tell whose it is."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ... import _clock
from ...errors import AgentConfigError

LABEL = "ostinato.sandbox"
#: The only folder that a container's processes can write to.
SCRATCH = "/tmp"

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_USER = re.compile(r"[1-9]\d{0,9}(:[1-9]\d{0,9})?")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"ostinato-([0-9a-f]{12})-(\d+)-(\d+)-[A-Za-z0-9-]+")
_SMALLEST_MEMORY = 6 * 2**20  # docker takes no less
_OPEN_FILES = 1_024
# A client's settings may give every container proxies, with their logins.
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """What a container may use. Every value is checked here.

    Attributes:
      image: the image's name.
      memory_bytes: memory of all processes together, their files included; there is no swap.
      disk_bytes: all files together.
      processes: processes and threads at once.
      cpus: processors' time per time.
      user: number of the user, and of the group behind a colon; not root.
      allow_network: join the default network; without it there is only the loopback.
      runtime: runtime of the containers, such as `runsc`; the default if None.
      variables: names of environment variables that are passed on from the program's environment.

    Raises:
      AgentConfigError: a value cannot be given to the command line, or gives up the protection.
    """

    image: str
    memory_bytes: int = 2**30
    disk_bytes: int = 2**27
    processes: int = 64
    cpus: float = 1.0
    user: str = "65534:65534"
    allow_network: bool = False
    runtime: str | None = None
    variables: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check("image", self.image, _IMAGE, "the name of an image, such as 'python:3.13-slim'")
        _check("user", self.user, _USER, "the numbers of a user and a group that are not root's")
        if self.runtime is not None:
            _check("runtime", self.runtime, _WORD, "the name of a runtime, such as 'runsc'")
        for name in self.variables:
            _check("environment variable", name, _VARIABLE, "letters, digits and _")
        if self.memory_bytes < _SMALLEST_MEMORY:
            raise AgentConfigError(f"A container needs {_SMALLEST_MEMORY} bytes of memory or more.")
        if min(self.disk_bytes, self.processes, self.cpus) <= 0:
            raise AgentConfigError("The limits of disk, processes and cpus have to be above 0.")


def write_run(
    settings: ContainerSettings,
    name: str,
    command: Sequence[str],
    *,
    variables: Iterable[tuple[str, str]] = (),
    is_podman: bool = False,
) -> list[str]:
    """Return the arguments of `run` for a container that ends with its input.

    Args:
      settings: what it may use.
      name: the container's name.
      command: the program and its arguments.
      variables: environment variables that are no secret.
      is_podman: the program is podman, whose defaults are not docker's.
    """
    flags = ["--rm", "--interactive", "--name", name, "--label", f"{LABEL}=1"]
    flags += ["--pull", "never", "--no-healthcheck", "--log-driver", "none"]
    flags += ["--network", "bridge" if settings.allow_network else "none"]
    flags += ["--read-only", "--user", settings.user]
    flags += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    memory = str(settings.memory_bytes)
    flags += ["--memory", memory, "--memory-swap", memory]
    flags += ["--cpus", f"{settings.cpus:g}", "--pids-limit", str(settings.processes)]
    flags += ["--ulimit", f"nofile={_OPEN_FILES}:{_OPEN_FILES}", "--ulimit", "core=0:0"]
    options = f"rw,exec,nosuid,nodev,size={settings.disk_bytes},mode=1777"
    flags += ["--tmpfs", f"{SCRATCH}:{options}", "--shm-size", str(min(settings.disk_bytes, 2**26))]
    flags += ["--workdir", SCRATCH, "--env", f"HOME={SCRATCH}"]
    if is_podman:  # else it puts unbounded file systems over /run and /var/tmp
        flags += ["--read-only-tmpfs=false", "--image-volume", "ignore"]
    if not settings.allow_network:
        flags += [f"--env={one}=" for name in _PROXIES for one in (name, name.upper())]
    flags += [f"--env={key}={value}" for key, value in variables]
    flags += [f"--env={key}" for key in settings.variables]
    if settings.runtime is not None:
        flags += ["--runtime", settings.runtime]
    program, *arguments = command
    return ["run", *flags, "--entrypoint", program, settings.image, *arguments]


def new_name() -> str:
    """Return a name for a container that tells which process it belongs to."""
    pid = os.getpid()
    return f"ostinato-{_machine()}-{pid}-{_started_at(pid)}-{_clock.unique_id()[:12]}"


def is_abandoned(name: str) -> bool:
    """Return whether a container's name is of a dead process of this machine."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != _machine():
        return False
    pid = int(found[2])
    return not _is_alive(pid) or found[3] != _started_at(pid)


@cache
def _machine() -> str:
    """Return a mark of this machine, its boot and its process ids; they may be a container's."""
    known = [platform.node()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]


def _started_at(pid: int) -> str:
    """Return when a process started, in ticks; 0 where that is not known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # nothing asks there without a risk
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _check(what: str, value: object, pattern: re.Pattern[str], wanted: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise AgentConfigError(f"The {what} of a container is {wanted}, not {value!r:.80}.")
