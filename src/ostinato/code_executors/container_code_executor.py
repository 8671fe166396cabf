"""Executor that runs a model's code in containers of docker or podman."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field, PrivateAttr, field_validator

from ..errors import AgentConfigError
from ..processes.container.container_cli import ContainerCli
from ..processes.container.container_flags import (
    SCRATCH,
    ContainerSettings,
    new_name,
    write_run,
)
from ..processes.container.container_run import ContainerRun
from ._child import Capture, Child
from ._local_code_executor import LocalCodeExecutor, join_lines

DEFAULT_IMAGE_TAG = "adk-code-executor:latest"

_WORK = f"{SCRATCH}/work"
_FIRST_PROCESS = Path(__file__).with_name("_container_main.py")
_RUNNER = Path(__file__).with_name("_child_main.py")
_CONFINE = Path(__file__).parents[1] / "processes" / "sandbox" / "confine_main.py"
_HEAD_BYTES = 5  # of a frame: its kind and the length of its data
_LONGEST_NAME = 4_096
# Beyond the files that are kept some more are sent, so that a note can name them.
_FILES_NAMED = 20
# The container ends itself so much later than this process ends it.
_SPARE_SECONDS = 10.0
_NO_PROGRAM = (126, 127)


class ContainerCodeExecutor(LocalCodeExecutor):
    """Runs Python code in a container of docker or podman, a new one for each run.

    The code reaches neither a network nor this machine's files. It runs as a user without
    privileges on a read-only image, with limits of memory, processors, processes and disk; all that
    no parameter can turn off, except the network. Input files lie in its working directory, new and
    changed files of a run that did not fail are its output files. After the run, and after a
    timeout, the container is gone. It ends with this process, even a killed one, and the next
    process removes what remains. docs/sandboxes.md lists what is promised.

    The first run finds the program, and builds or pulls the image; creating an executor does not.

    Args:
      base_url: where the daemon listens; docker's or podman's own choice if None.
      image: name of an image that has `python3`.
      docker_path: folder with a Dockerfile from which the image is built at the first run; without
        `image` it is called `adk-code-executor:latest`.
      **data: the other attributes.

    Raises:
      ValueError: neither image nor docker_path is given.
      FileNotFoundError: there is no docker_path.

    Attributes:
      container_cli: the program, `docker`, `podman` or a path; the first that is found if None.
      pull_image: pull an image that is missing.
      user: number of user and group in the container, such as "1000:1000"; not root.
      allow_network: let the code use the container's default network.
      runtime: a runtime such as `runsc` (gVisor); the default one if None.
      max_memory_bytes: memory of all processes and files of a run together.
      max_cpus: processors that a run may use.
      max_processes: processes and threads of a run at once.
      max_disk_bytes: all files of a run together; they are kept in memory.
      timeout_seconds: time of a run, with the container's start.
      max_output_bytes, max_output_files, max_file_bytes: as for UnsafeLocalCodeExecutor.
    """

    base_url: str | None = None
    image: str | None = None
    docker_path: str | None = None
    container_cli: str | None = None
    pull_image: bool = True
    user: str = "65534:65534"
    allow_network: bool = False
    runtime: str | None = None
    max_memory_bytes: int | None = Field(default=1024**3, gt=0)
    max_cpus: float = Field(default=1.0, gt=0)
    max_processes: int = Field(default=64, gt=0)
    max_disk_bytes: int = Field(default=128 * 1024**2, gt=0)

    _is_of_google_adk = True

    _cli: tuple[tuple[str | None, str | None], ContainerCli] | None = PrivateAttr(default=None)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(
        self,
        base_url: str | None = None,
        image: str | None = None,
        docker_path: str | None = None,
        **data: Any,
    ) -> None:
        if not image and not docker_path:
            raise ValueError("Either image or docker_path must be set for ContainerCodeExecutor.")
        if docker_path and not os.path.exists(docker_path):
            raise FileNotFoundError(f"Invalid Docker path: {docker_path}")
        data["base_url"] = base_url
        data["image"] = image or DEFAULT_IMAGE_TAG
        data["docker_path"] = os.path.abspath(docker_path) if docker_path else None
        super().__init__(**data)

    @field_validator("max_memory_bytes")
    @classmethod
    def _require_memory_limit(cls, max_memory_bytes: int | None) -> int:
        if max_memory_bytes is None:
            raise ValueError("max_memory_bytes cannot be None: a container has a limit.")
        return max_memory_bytes

    def _run_code(self, child: Child, code: str, root: Path) -> tuple[int, str, str, str]:
        settings = self._settings()
        cli = self._open_cli(settings)
        answer, said = _Answer(child, root / "work"), Capture(child)
        name = new_name()
        words = ["python3", "-I", "-c", _FIRST_PROCESS.read_text(encoding="utf-8"), _WORK]
        run = ContainerRun(
            cli,
            name,
            write_run(settings, name, words, is_podman=cli.is_podman),
            stdin=self._write_task(code, root / "work"),
            stdout=answer.add,
            stderr=said.add,
        )
        status = child.attend(run)
        fault = ""
        if answer.status is None and child.killed_because is None:
            fault = _explain_end(cli, settings.image, status, said.text())
        stderr = join_lines(answer.stderr.text(), answer.note)
        return answer.status or 0, answer.stdout.text(), stderr, fault

    def _bound_output_files(self) -> int:
        return self.max_disk_bytes

    def _settings(self) -> ContainerSettings:
        return ContainerSettings(
            image=self.image or DEFAULT_IMAGE_TAG,
            memory_bytes=self.max_memory_bytes or 0,
            disk_bytes=self.max_disk_bytes,
            processes=self.max_processes,
            cpus=self.max_cpus,
            user=self.user,
            allow_network=self.allow_network,
            runtime=self.runtime,
        )

    def _open_cli(self, settings: ContainerSettings) -> ContainerCli:
        wanted = (self.container_cli, self.base_url)
        with self._lock:
            if self._cli is None or self._cli[0] != wanted:
                self._cli = (wanted, ContainerCli(*wanted))
            cli = self._cli[1]
        cli.prepare_image(settings.image, build_path=self.docker_path, pull=self.pull_image)
        return cli

    def _write_task(self, code: str, work: Path) -> bytes:
        """Return the line that the container's first process reads."""
        files = {
            path.relative_to(work).as_posix(): base64.b64encode(path.read_bytes()).decode("ascii")
            for path in work.rglob("*")
            if path.is_file()
        }
        seconds = self.timeout_seconds
        task = {
            "code": code,
            "files": files,
            "runner": _RUNNER.read_text(encoding="utf-8"),
            "confine": _CONFINE.read_text(encoding="utf-8"),
            "seconds": None if seconds is None else seconds + _SPARE_SECONDS,
            "file_bytes": self.max_file_bytes,
            "files_sent": self.max_output_files + _FILES_NAMED,
        }
        return json.dumps(task).encode("ascii") + b"\n"


class _Answer:
    """What the first process of a container sends; the code in it may have forged any of it.

    Args:
      child: is ended if the answer has no form, and has the limits.
      work: folder that gets the files.

    Attributes:
      stdout, stderr: what the code printed.
      status: the exit status; None before the answer is complete.
      note: tells that files were left out, which had too many bytes together; else empty.
    """

    def __init__(self, child: Child, work: Path) -> None:
        self.stdout, self.stderr = Capture(child), Capture(child)
        self.status: int | None = None
        self.note = ""
        self._is_refused = False
        self._room = child.limits.total_bytes
        self._child, self._work = child, work
        self._files_left = child.limits.files + _FILES_NAMED
        self._buffer = bytearray()

    def add(self, piece: bytes) -> None:
        """Read the next piece of the container's output."""
        if self._is_refused or self.status is not None:
            return
        self._buffer += piece
        longest = self._child.limits.file_bytes + _LONGEST_NAME
        while len(self._buffer) >= _HEAD_BYTES:
            kind = bytes(self._buffer[:1])
            size = int.from_bytes(self._buffer[1:_HEAD_BYTES], "big")
            if kind not in (b"o", b"e", b"f", b"x") or size > max(longest, 2**17):
                self._refuse("it sent something that is not an answer")
                return
            if len(self._buffer) < _HEAD_BYTES + size:
                return
            data = bytes(self._buffer[_HEAD_BYTES : _HEAD_BYTES + size])
            del self._buffer[: _HEAD_BYTES + size]
            self._read_frame(kind, data)

    def _read_frame(self, kind: bytes, data: bytes) -> None:
        if kind == b"o":
            self.stdout.add(data)
        elif kind == b"e":
            self.stderr.add(data)
        elif kind == b"f":
            self._write_file(data)
        elif self.status is None:
            text = data.decode("ascii", "replace")
            self.status = int(text) if text.lstrip("-").isdecimal() and len(text) < 5 else 1

    def _write_file(self, data: bytes) -> None:
        name, _, content = data.partition(b"\0")
        path = PurePosixPath(os.fsdecode(name))
        self._files_left -= 1
        if path.is_absolute() or ".." in path.parts or not path.name or self._files_left < 0:
            self._refuse("it sent a file that it must not send")
            return
        if self._room is not None:
            if len(content) > self._room:
                most = self._child.limits.total_bytes
                self.note = f"Some files are not kept: all may have {most} bytes together."
                return
            self._room -= len(content)
        target = self._work.joinpath(*path.parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError:
            self._refuse(f"its file {path.name!r} cannot be stored")

    def _refuse(self, why: str) -> None:
        self._is_refused = True
        self._child.kill(why)


def _explain_end(cli: ContainerCli, image: str, status: int, said: str) -> str:
    """Return why a container ended without an answer, for the model.

    Raises:
      AgentConfigError: the developer has to mend it.
    """
    if status in _NO_PROGRAM and "python3" in said:
        raise AgentConfigError(
            f"{cli.name}: image {image!r} has no python3 that can be run. Name an image of Python, "
            "such as 'python:3.13-slim'."
        )
    if status in (125, *_NO_PROGRAM):
        raise cli.error(f"the container of {image!r} cannot be started", said)
    reason = said.strip()[-300:] or "it may have used more memory than max_memory_bytes."
    return f"The container ended before the code did (exit status {status}): {reason}"
