"""ContainerRun: one container, from its start to its removal."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

from ...errors import AgentConfigError
from .container_cli import ContainerCli
from .program_streams import Sink, read_stream, write_stream

_GRACE_SECONDS = 2.0


class ContainerRun:
    """A container whose first process ends when its input does.

    The input is this process's, so the container also ends if this process is killed.

    Args:
      cli: the command line.
      name: the container's name.
      arguments: those of `run`.
      stdin: what the container reads first; its input stays open then.
      stdout, stderr: get what it prints, piece by piece, each in a thread of its own.
      variables: environment variables that `arguments` pass on by name.
    """

    def __init__(
        self,
        cli: ContainerCli,
        name: str,
        arguments: list[str],
        *,
        stdin: bytes = b"",
        stdout: Sink,
        stderr: Sink,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._cli = cli
        self._words = cli.words(*arguments)
        # What the program itself needs cannot be overwritten.
        self._environment = {**(variables or {}), **cli.environment()}
        self._stdin = stdin
        self._sinks = (stdout, stderr)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopper: threading.Thread | None = None
        self._is_ending = False

    def run(self) -> int:
        """Run the container to its end; once only.

        Returns:
          The exit status of the program; negative if it was ended.

        Raises:
          AgentConfigError: the program cannot be started.
        """
        process = self._start_process()
        if process is None:
            return -9
        assert process.stdin and process.stdout and process.stderr  # they are pipes
        readers = [
            threading.Thread(target=read_stream, args=pair, daemon=True)
            for pair in zip((process.stdout, process.stderr), self._sinks, strict=True)
        ]
        for reader in readers:
            reader.start()
        write_stream(process.stdin, self._stdin)
        try:
            status = process.wait()
        finally:
            self._finish(process, readers)
        if self._stopper is not None:
            self._stopper.join()
            return -9
        if status != 0:  # the program may have died before its container
            self._cli.remove(self.name)
        return status

    def end(self) -> None:
        """End the container, from any thread; it may continue for a moment."""
        with self._lock:
            if self._is_ending:
                return
            self._is_ending = True
            if self._process is None or self._process.poll() is not None:
                return
            self._stopper = threading.Thread(target=self._stop, args=[self._process], daemon=True)
            self._stopper.start()

    def _start_process(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_ending:
                return None
            try:
                self._process = subprocess.Popen(
                    self._words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    bufsize=0,
                    # A key press that interrupts this process must not reach the program.
                    start_new_session=sys.platform != "win32",
                )
            except OSError as error:
                raise AgentConfigError(
                    f"{self._cli.path} cannot be run ({error.strerror}). Set container_cli to the "
                    "program docker or podman."
                ) from error
            return self._process

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(AgentConfigError):
            self._cli.remove(self.name)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                return
            process.kill()
            process.wait()
            # It may have been about to create the container.
            self._cli.remove(self.name)
        process.kill()

    def _finish(self, process: subprocess.Popen[bytes], readers: list[threading.Thread]) -> None:
        if process.returncode is None:  # waiting was interrupted
            self.end()
            process.wait()
        for reader in readers:
            reader.join(_GRACE_SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
