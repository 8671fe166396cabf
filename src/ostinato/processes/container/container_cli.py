"""ContainerCli: the command line of docker or podman, its errors and abandoned containers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from ..._log import get_logger
from ...errors import AgentConfigError
from .container_flags import LABEL, is_abandoned
from .program_streams import read_stream, write_stream

logger = get_logger(__name__)

_PROGRAMS = ("docker", "podman")
_SCHEMES = ("unix", "tcp", "ssh", "npipe")
_CALL_SECONDS, _FETCH_SECONDS = 30.0, 1_800.0
_LONGEST_REASON = 600  # characters
_MOST_BYTES = 2**20
_MOST_STDERR_BYTES = 64 * 2**10
_GRACE_SECONDS = 2.0
# What the command line needs of this process's environment; nothing else reaches it.
_KEPT = re.compile(
    r"PATH|HOME|USER|LOGNAME|USERPROFILE|SYSTEMROOT|PROGRAMDATA|APPDATA|LOCALAPPDATA|TMPDIR|TEMP|"
    r"TMP|LANG|SSH_AUTH_SOCK|XDG_\w+|DOCKER_\w+|BUILDKIT_\w+|CONTAINER_HOST|CONTAINER_SSHKEY|"
    r"CONTAINERS_\w+|DBUS_SESSION_BUS_ADDRESS",
    re.IGNORECASE,
)
_PROXIES = re.compile(r"(https?|all|no)_proxy", re.IGNORECASE)
# What the programs say, in the order in which it is looked for, and what to do about it.
_REMEDIES = (
    (
        r"permission denied.*(daemon|socket|sock)",
        "this user may not use the daemon. Add the user to the daemon's group, or use podman, "
        "which needs no daemon.",
    ),
    (
        r"cannot connect to|error during connect|connection refused|is the docker daemon running|"
        r"unable to connect|no such host|dial (unix|tcp)",
        "it reaches no daemon. Start it (`systemctl start docker`, Docker Desktop, `podman machine "
        "start`), or set base_url to where it listens.",
    ),
    (
        r"unknown flag|unknown shorthand|unknown option",
        "it does not know a flag that the sandbox needs. Update it.",
    ),
    (
        r"no such image|image not known|unable to find image|manifest unknown|not found: manifest|"
        r"pull access denied|repository does not exist",
        "the image is not there. Check its name, and pull or build it.",
    ),
    (
        r"unknown or invalid runtime|unknown runtime|default oci runtime",
        "it does not know this runtime. Install it, or leave `runtime` out.",
    ),
)


class CliAnswer(NamedTuple):
    """How a call ended.

    Attributes:
      status: the exit status; None if it took too long.
      output: what it printed to stdout.
      stderr: what it printed there.
    """

    status: int | None
    output: bytes
    stderr: str


class _Call:
    """A call that runs, and what is kept of what it prints.

    Args:
      process: the program.
      most_bytes: as for `ContainerCli.call`.
    """

    def __init__(self, process: subprocess.Popen[bytes], most_bytes: int | None) -> None:
        self._process, self._most_bytes = process, most_bytes
        self._output, self._stderr = bytearray(), bytearray()
        self._is_too_long = False

    def attend(self, stdin: bytes, seconds: float) -> CliAnswer:
        """Wait for the end of the program; end it when it prints or takes too much."""
        process = self._process
        assert process.stdin and process.stdout and process.stderr  # they are pipes
        threads = [
            threading.Thread(target=read_stream, args=(process.stdout, self._keep), daemon=True),
            threading.Thread(target=read_stream, args=(process.stderr, self._note), daemon=True),
            threading.Thread(target=_write_and_close, args=(process.stdin, stdin), daemon=True),
        ]
        for thread in threads:
            thread.start()
        is_late = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            process.kill()
            process.wait()
            for thread in threads:
                thread.join(_GRACE_SECONDS)  # another process may hold the other end
            for stream in (process.stdin, process.stdout, process.stderr):
                with suppress(OSError):
                    stream.close()
        if is_late:
            return CliAnswer(None, b"", f"no answer within {seconds:g} s")
        if self._is_too_long:
            return CliAnswer(None, b"", f"more than {self._most_bytes:,} bytes of output")
        said = self._stderr.decode("utf-8", "replace")
        return CliAnswer(process.returncode, bytes(self._output), said)

    def _keep(self, piece: bytes) -> None:
        if self._most_bytes is None or self._is_too_long:
            return
        self._output += piece
        if len(self._output) > self._most_bytes:
            self._is_too_long = True
            self._process.kill()

    def _note(self, piece: bytes) -> None:
        """Keep the end of stderr, which says why the program failed."""
        self._stderr += piece
        del self._stderr[:-_MOST_STDERR_BYTES]


def _write_and_close(stream: IO[bytes], data: bytes) -> None:
    write_stream(stream, data)
    with suppress(OSError):
        stream.close()


class ContainerCli:
    """The program `docker` or `podman`, of one daemon.

    Args:
      program: name or path of the program; the first of docker and podman that is installed if
        None.
      base_url: where the daemon listens, such as `unix:///run/docker.sock`; the program's own
        choice if None.

    Raises:
      AgentConfigError: there is no such program, or the URL is no daemon's.
    """

    def __init__(self, program: str | None = None, base_url: str | None = None) -> None:
        self.path = _find_program(program)
        self.name = Path(self.path).stem
        self.is_podman = "podman" in self.name
        self._host = [] if base_url is None else self._read_host(base_url)
        self._lock = threading.Lock()
        self._ready: set[str] = set()

    def words(self, *arguments: str) -> list[str]:
        """Return the command line of a call."""
        return [self.path, *self._host, *arguments]

    def environment(self, *, proxies: bool = False) -> dict[str, str]:
        """Return the environment of the program, without keys of this process.

        Args:
          proxies: with the addresses of proxies, which may hold a login; to fetch images.
        """
        return {
            name: value
            for name, value in os.environ.items()
            if _KEPT.fullmatch(name) or (proxies and _PROXIES.fullmatch(name))
        }

    def call(
        self,
        *arguments: str,
        stdin: bytes = b"",
        seconds: float = _CALL_SECONDS,
        proxies: bool = False,
        most_bytes: int | None = _MOST_BYTES,
    ) -> CliAnswer:
        """Run the program to its end and return what it printed.

        Args:
          arguments: its arguments.
          stdin: what it reads.
          seconds: how long it may take.
          proxies: as for `environment`.
          most_bytes: what it may print to stdout; more ends it. None: any amount, which is dropped.

        Raises:
          AgentConfigError: it cannot be started.
        """
        try:
            process = subprocess.Popen(
                self.words(*arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment(proxies=proxies),
                bufsize=0,
            )
        except OSError as error:
            raise AgentConfigError(
                f"{self.path} cannot be run ({error.strerror}). Set container_cli to the program "
                "docker or podman."
            ) from error
        return _Call(process, most_bytes).attend(stdin, seconds)

    def prepare_image(self, image: str, *, build_path: str | None, pull: bool) -> None:
        """Make sure that an image is there, once, and remove abandoned containers.

        Args:
          image: its name.
          build_path: folder with a Dockerfile to build it from; None for an image that exists.
          pull: pull it if it is missing.

        Raises:
          AgentConfigError: it is not there, cannot be built, or there is no daemon.
        """
        with self._lock:
            if image in self._ready:
                return
            if build_path is not None:
                self._build_image(image, build_path)
            elif (found := self.call("image", "inspect", "--format", "{{.Id}}", image)).status != 0:
                self._fetch_image(image, found, pull=pull)
            self.sweep()
            self._ready.add(image)

    def sweep(self) -> None:
        """Remove the containers of dead processes of this machine."""
        listed = self.call("ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}")
        for name in listed.output.decode("utf-8", "replace").split():
            if is_abandoned(name):
                logger.info("Removing the abandoned container %s.", name)
                self.remove(name)

    def remove(self, name: str) -> bool:
        """End and remove a container; return whether it is gone."""
        answer = self.call("rm", "--force", "--volumes", name)
        gone = answer.status == 0 or re.search(
            r"no such container|no container with|already in progress|does not exist",
            answer.stderr,
            re.IGNORECASE,
        )
        if not gone:
            logger.warning("The container %s may be left: %s", name, _shorten(answer.stderr))
        return bool(gone)

    def error(self, what: str, stderr: str) -> AgentConfigError:
        """Return the error for a call that failed, with the reason and the remedy."""
        reason = _shorten(stderr)
        for pattern, remedy in _REMEDIES:
            if re.search(pattern, stderr, re.IGNORECASE | re.DOTALL):
                return AgentConfigError(f"{self.name}: {what}: {remedy} It said: {reason}")
        return AgentConfigError(f"{self.name}: {what}. It said: {reason}")

    def _read_host(self, base_url: str) -> list[str]:
        scheme, mark, rest = base_url.partition("://")
        if scheme == "http":
            scheme = "tcp"
        if scheme not in _SCHEMES or not mark or not rest or not base_url.isprintable():
            raise AgentConfigError(
                f"base_url {base_url!r} is not the address of a daemon: write unix://, tcp://, "
                "ssh:// or npipe://. For TLS set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH."
            )
        return ["--url" if self.is_podman else "--host", f"{scheme}://{rest}"]

    def _build_image(self, image: str, build_path: str) -> None:
        folder = Path(build_path)
        if not any((folder / name).is_file() for name in ("Dockerfile", "Containerfile")):
            raise AgentConfigError(
                f"docker_path {build_path} has no Dockerfile. Name the folder that has one."
            )
        logger.info("Building the image %s from %s.", image, build_path)
        # The folder is absolute, so it cannot pass for a flag.
        done = self.call(
            "build",
            "--tag",
            image,
            str(folder.resolve()),
            seconds=_FETCH_SECONDS,
            proxies=True,
            most_bytes=None,
        )
        if done.status != 0:
            raise self.error(f"image {image!r} cannot be built from {build_path}", done.stderr)

    def _fetch_image(self, image: str, found: CliAnswer, *, pull: bool) -> None:
        is_missing = re.search(r"no such image|image not known", found.stderr, re.IGNORECASE)
        if not is_missing:
            raise self.error(f"image {image!r} cannot be looked up", found.stderr)
        if not pull:
            raise AgentConfigError(
                f"{self.name}: image {image!r} is not on this machine, and pull_image is off. "
                f"Run `{self.name} pull {image}`, or set pull_image=True."
            )
        logger.info("Pulling the image %s.", image)
        done = self.call(
            "pull", "--quiet", image, seconds=_FETCH_SECONDS, proxies=True, most_bytes=None
        )
        if done.status != 0:
            raise self.error(f"image {image!r} cannot be pulled", done.stderr)


def is_program_variable(name: str) -> bool:
    """Return whether an environment variable steers the program itself."""
    return bool(_KEPT.fullmatch(name))


def _find_program(program: str | None) -> str:
    for name in _PROGRAMS if program is None else (program,):
        if (found := shutil.which(name)) is not None:
            return found
    missing = "neither docker nor podman" if program is None else f"no program {program!r}"
    raise AgentConfigError(
        f"There is {missing} on this machine. Install docker or podman, or set container_cli to "
        "its path; without containers, SandboxedLocalCodeExecutor works on Linux."
    )


def _shorten(text: str) -> str:
    """Return the end of what a program said, on one line."""
    line = " ".join(text.split()) or "nothing."
    return line if len(line) <= _LONGEST_REASON else f"... {line[-_LONGEST_REASON:]}"
