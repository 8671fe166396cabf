"""Environment in a container of docker or podman, which lives from `initialize` to `close`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NoReturn

from .. import _clock
from ..errors import AgentConfigError, InputValidationError
from ..processes.captured_run import run_captured
from ..processes.container.container_cli import CliAnswer, ContainerCli, is_program_variable
from ..processes.container.container_flags import (
    SCRATCH,
    ContainerSettings,
    new_name,
    write_run,
)
from ..processes.container.container_run import ContainerRun
from ._base_environment import (
    MAX_FILE_BYTES,
    BaseEnvironment,
    ExecutionResult,
    check_size,
    check_timeout,
)

_OUTPUT_BYTES = 10_000_000
_SHORT_BYTES = 64 * 2**10  # of a script that prints nothing
_START_SECONDS = 60.0
_KILLED = -9
_READY = b"ready\n"
_SHELL = "/bin/sh"
# The container's first process: it reads until its input ends, and reaps orphans.
_FIRST_PROCESS = 'mkdir -p "$1" || exit 1; echo ready; cat >/dev/null; exit 0'
# Ends all processes whose environment holds a command's mark, until none is found.
_END_MARKED = """
n=0
while [ $n -lt 100 ]; do
  found=
  for one in /proc/[0-9]*; do
    if grep -q "OSTINATO_COMMAND=$1" "$one/environ" 2>/dev/null; then
      kill -9 "${one#/proc/}" 2>/dev/null && found=1
    fi
  done
  [ -z "$found" ] && break
  n=$((n+1))
done
"""
_COMMAND = f'OSTINATO_COMMAND=$1 {_SHELL} -c "$2"; status=$?\n{_END_MARKED}\nexit $status'
_MISSING, _NO_FILE = 44, 45
_READ = f'[ -e "$1" ] || exit {_MISSING}; [ -f "$1" ] || exit {_NO_FILE}; exec head -c "$2" -- "$1"'
_WRITE = f'[ ! -e "$1" ] || [ -f "$1" ] || exit {_NO_FILE}; mkdir -p "${{1%/*}}" && exec cat >"$1"'


class ContainerEnvironment(BaseEnvironment):
    """Runs commands in a container of docker or podman, which keeps their files until `close`.

    A command reaches neither a network nor this machine's files and variables. It runs as a user
    without privileges on a read-only image, with limits of memory, processors, processes and disk,
    and when it ends, so do the processes that it started. Only `/tmp` can be written to.
    docs/sandboxes.md lists what is promised.

    Args:
      image: name of an image that has `/bin/sh`, `cat`, `grep` and `head`.
      working_dir: folder in which commands start, below `/tmp`.
      env_vars: variables that commands get.
      container_cli: the program, `docker`, `podman` or a path; the first that is found if None.
      base_url: where the daemon listens; the program's own choice if None.
      pull_image: pull an image that is missing.
      user: number of user and group in the container; not root.
      allow_network: let commands use the container's default network.
      runtime: a runtime such as `runsc` (gVisor); the default one if None.
      max_memory_bytes: memory of all processes and files together.
      max_cpus: processors that all commands together may use.
      max_processes: processes and threads at once.
      max_disk_bytes: all files together; they are kept in memory.
      max_file_bytes: size of the largest file that is read or written.

    Raises:
      AgentConfigError: a value cannot be given to a container, or gives up the protection.
    """

    def __init__(
        self,
        image: str,
        *,
        working_dir: Path | None = None,
        env_vars: Mapping[str, str] | None = None,
        container_cli: str | None = None,
        base_url: str | None = None,
        pull_image: bool = True,
        user: str = "65534:65534",
        allow_network: bool = False,
        runtime: str | None = None,
        max_memory_bytes: int = 1024**3,
        max_cpus: float = 1.0,
        max_processes: int = 128,
        max_disk_bytes: int = 256 * 1024**2,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        if max_file_bytes <= 0:
            raise AgentConfigError(
                f"ContainerEnvironment: max_file_bytes is {max_file_bytes}, but must be more than "
                "0."
            )
        self._max_file_bytes = max_file_bytes
        self._folder = PurePosixPath(f"{SCRATCH}/workspace" if working_dir is None else working_dir)
        if SCRATCH not in map(str, self._folder.parents) or ".." in self._folder.parts:
            raise AgentConfigError(
                f"working_dir {str(self._folder)!r} is not below {SCRATCH}, the only folder of a "
                "container that can be written to."
            )
        variables = dict(env_vars or {})
        # What the program would read itself is given to it as an argument.
        self._plain = {key: text for key, text in variables.items() if is_program_variable(key)}
        self._passed = {key: text for key, text in variables.items() if key not in self._plain}
        self._settings = ContainerSettings(
            image=image,
            memory_bytes=max_memory_bytes,
            disk_bytes=max_disk_bytes,
            processes=max_processes,
            cpus=max_cpus,
            user=user,
            allow_network=allow_network,
            runtime=runtime,
            variables=(*self._passed,),
        )
        self._pull_image = pull_image
        self._program = (container_cli, base_url)
        self._box: _Box | None = None

    @property
    def working_dir(self) -> Path:
        """The absolute path, in the container, of the directory in which commands start."""
        return Path(self._folder)

    async def initialize(self) -> None:
        """Start the container; a second call changes nothing.

        Raises:
          AgentConfigError: there is no docker or podman, no daemon, no such image, or the container
            does not start.
        """
        if self._is_initialized:
            return
        starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        try:
            self._box = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_close_box)
            raise
        self._is_initialized = True

    async def close(self) -> None:
        """End and remove the container with its files; a second call changes nothing."""
        box, self._box = self._box, None
        self._is_initialized = False
        if box is not None:
            await asyncio.to_thread(box.close)

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the port has it
    ) -> ExecutionResult:
        """Run a shell command in the working directory.

        Args:
          command: the command line.
          timeout: seconds after which it is ended; None for no bound.

        Returns:
          Its exit code and its output, of which at most 10 MB each are kept. Bytes that are not
          UTF-8 are written as `\\xff`.

        Raises:
          InputValidationError: `command` is not a text that a shell can be given, or `timeout` is
            NaN.
          RuntimeError: the environment is not initialized, or its container has ended.
        """
        if not isinstance(command, str) or "\0" in command:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputValidationError(
                f"A command has to be a text without NUL characters, not {command!r:.80}."
            )
        check_timeout(timeout)
        box, mark = self._open_box(), _clock.unique_id()
        words = box.exec_words(_COMMAND, mark, command, folder=str(self._folder))
        try:
            ended = await run_captured(
                box.cli.words(*words),
                cwd=Path.cwd(),
                home=Path.cwd(),
                seconds=timeout,
                output_bytes=_OUTPUT_BYTES,
                environment=box.cli.environment(),
                errors="backslashreplace",
            )
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.to_thread(box.end_command, mark))
            raise
        if ended.is_timed_out:
            await asyncio.to_thread(box.end_command, mark)
            return ExecutionResult(_KILLED, ended.stdout, ended.stderr, True)
        if ended.status != 0 and box.has_ended:
            self._report_end()
        return ExecutionResult(ended.status, ended.stdout, ended.stderr)

    async def read_file(self, path: str | Path) -> bytes:
        """Return what a file of the container holds.

        Args:
          path: absolute, or relative to the working directory.

        Raises:
          FileNotFoundError: there is no such file.
          OSError: it is not a regular file, is larger than `max_file_bytes`, or cannot be read.
          RuntimeError: the environment is not initialized, or its container has ended.
        """
        box = self._open_box()
        most = self._max_file_bytes
        words = (_READ, self._locate(path), str(most + 1))
        answer = await asyncio.to_thread(box.call, *words, most_bytes=most + 1)
        if answer.status == _MISSING:
            raise FileNotFoundError(f"There is no file {str(path)!r} in the container.")
        self._check(box, answer, "read", path)
        if len(answer.output) > most:
            raise OSError(f"{str(path)!r} has more than {most:,} bytes, the most that is read.")
        return answer.output

    async def write_file(self, path: str | Path, content: str | bytes) -> None:
        """Write a file of the container; parent folders are made.

        Args:
          path: absolute, or relative to the working directory.
          content: bytes, or a text to store as UTF-8.

        Raises:
          OSError: `content` is larger than `max_file_bytes`, or it cannot be written, such as
            outside of `/tmp`.
          RuntimeError: the environment is not initialized, or its container has ended.
        """
        data = content.encode() if isinstance(content, str) else content
        check_size(path, data, self._max_file_bytes)
        box = self._open_box()
        answer = await asyncio.to_thread(box.call, _WRITE, self._locate(path), stdin=data)
        self._check(box, answer, "written", path)

    def _start(self) -> _Box:
        cli = ContainerCli(*self._program)
        cli.prepare_image(self._settings.image, build_path=None, pull=self._pull_image)
        return _Box(cli, self._settings, str(self._folder), self._plain, self._passed)

    def _open_box(self) -> _Box:
        if self._box is None:
            raise RuntimeError("ContainerEnvironment has no container: await initialize() first.")
        if self._box.has_ended:
            self._report_end()
        return self._box

    def _report_end(self) -> NoReturn:
        self._box, self._is_initialized = None, False
        raise RuntimeError(
            f"The container of {self._settings.image!r} has ended, and its files are gone; it may "
            "have used more memory than max_memory_bytes. Await initialize() for a new one."
        )

    def _locate(self, path: str | Path) -> str:
        located = str(self._folder / PurePosixPath(path))
        if "\0" in located:
            raise InputValidationError(f"The path {located!r} holds a NUL character.")
        return located

    def _check(self, box: _Box, answer: CliAnswer, done: str, path: str | Path) -> None:
        if answer.status == 0:
            return
        if box.has_ended:
            self._report_end()
        said = "it is not a plain file" if answer.status == _NO_FILE else answer.stderr.strip()
        raise OSError(f"{str(path)!r} cannot be {done} in the container: {said[-300:]}")


class _Box:
    """A running container.

    Raises:
      AgentConfigError: it does not start.
    """

    def __init__(
        self,
        cli: ContainerCli,
        settings: ContainerSettings,
        folder: str,
        plain: Mapping[str, str],
        passed: Mapping[str, str],
    ) -> None:
        self.cli = cli
        self.name = new_name()
        self._said = bytearray()
        self._changed = threading.Event()
        self._is_ready = False
        self.has_ended = False
        self._status: int | None = None  # with which it ended
        self._run = ContainerRun(
            cli,
            self.name,
            write_run(
                settings,
                self.name,
                [_SHELL, "-c", _FIRST_PROCESS, "sh", folder],
                variables=plain.items(),
                is_podman=cli.is_podman,
            ),
            stdout=self._note_ready,
            stderr=self._note_error,
            variables=passed,
        )
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        self._changed.wait(_START_SECONDS)
        if not self._is_ready or self.has_ended:
            what = f"the container of {settings.image!r} does not start"
            nothing = "nothing" if self.has_ended else f"nothing in {_START_SECONDS:g} s"
            if self._status is not None:
                what += f": it ended at once with exit status {self._status}"
            self.close()
            raise cli.error(what, self._said.decode("utf-8", "replace") or nothing)

    def exec_words(self, script: str, *arguments: str, folder: str = SCRATCH) -> list[str]:
        """Return the arguments that run a shell script in the container."""
        flags = ["--interactive", "--workdir", folder]
        return ["exec", *flags, self.name, _SHELL, "-c", script, "sh", *arguments]

    def call(
        self, script: str, *arguments: str, stdin: bytes = b"", most_bytes: int = _SHORT_BYTES
    ) -> CliAnswer:
        """Run a short script with arguments."""
        words = self.exec_words(script, *arguments)
        return self.cli.call(*words, stdin=stdin, most_bytes=most_bytes)

    def end_command(self, mark: str) -> None:
        """End a command's processes; the whole container if that fails."""
        if self.call(_END_MARKED, mark).status != 0:
            self.close()

    def close(self) -> None:
        """End the container and wait for it."""
        self._run.end()
        self._thread.join()

    def _hold(self) -> None:
        try:
            self._status = self._run.run()
        except AgentConfigError as error:
            self._said += str(error).encode()
        finally:
            self.has_ended = True
            self._changed.set()

    def _note_ready(self, piece: bytes) -> None:
        self._is_ready = self._is_ready or _READY in piece
        if self._is_ready:
            self._changed.set()

    def _note_error(self, piece: bytes) -> None:
        if len(self._said) < _OUTPUT_BYTES:
            self._said += piece


def _close_box(starting: asyncio.Future[_Box]) -> None:
    """Close the box of a caller that was cancelled."""
    if not starting.cancelled() and starting.exception() is None:
        threading.Thread(target=starting.result().close, daemon=True).start()
