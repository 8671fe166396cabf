"""Terminals for tests: one inside this process whose keys are typed ahead, and a real one (pty)."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from ostinato.cli.main import main

_SECONDS = 120.0
_ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07")


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def plain(text: str) -> str:
    """Return what a terminal was sent, without its control sequences."""
    return _ANSI.sub("", text).replace("\r", "")


def typed(monkeypatch: pytest.MonkeyPatch, keys: str, *argv: str) -> tuple[int, str]:
    """Run a command at a terminal where `keys` are typed; return its exit code and the screen.

    What prompts draw is left out. `\\r` is Enter, `\\x03` Ctrl-C, `\\x04` Ctrl-D.
    """
    screen = Screen()
    with (
        monkeypatch.context() as patch,
        create_pipe_input() as keyboard,
        create_app_session(input=keyboard, output=DummyOutput()),
    ):
        patch.setattr(sys, "stdin", Screen())
        patch.setattr(sys, "stdout", screen)
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "xterm-256color")
        keyboard.send_text(keys)
        keyboard.close()  # a prompt that finds no more keys ends as with Ctrl-D
        code = main(argv)
    return code, plain(screen.getvalue())


class Pty:
    """A process at a pseudo terminal of 80 columns."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self.process = process
        self.seen = ""

    def wait_for(self, words: str) -> None:
        """Read until the words are on the screen."""
        end = time.monotonic() + _SECONDS
        while words not in plain(self.seen):
            ready, _, _ = select.select([self._master], [], [], end - time.monotonic())
            assert ready, f"{words!r} did not come: {plain(self.seen)}"
            self.seen += self._read()

    def read(self) -> str:
        """Wait for the next piece of what the process writes, and return it."""
        ready, _, _ = select.select([self._master], [], [], _SECONDS)
        assert ready, "nothing came"
        text = self._read()
        assert text, "the process has ended"
        return text

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Read to the end; return the exit code."""
        while text := self._read():
            self.seen += text
        return self.process.wait(_SECONDS)

    def _read(self) -> str:
        try:
            return os.read(self._master, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return ""


@contextmanager
def at_a_pty(*argv: str, program: Sequence[str] = ("-m", "ostinato"), **env: str) -> Iterator[Pty]:
    """Run `python -m ostinato`, or another program of Python's, at a pseudo terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *program, *argv],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40", **env},
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Pty(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)
