"""A child process and all it starts: how they end, and what becomes of them without their owner."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ostinato.processes import guarded_process
from ostinato.processes.guarded_process import GuardedProcess, clean_environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are POSIX")


def guarded(folder: Path, *words: str, **options: Any) -> tuple[GuardedProcess, bytearray]:
    said = bytearray()
    process = GuardedProcess(
        words, cwd=folder, home=folder, stdout=said.extend, stderr=said.extend, **options
    )
    return process, said


def test_a_command_with_input_and_output(tmp_path: Path) -> None:
    process, said = guarded(tmp_path, "cat", stdin=b"x" * 1_000_000)
    assert process.run() == 0
    assert said == b"x" * 1_000_000


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -15 $$", -15), ("kill -9 0", -9)]
)
def test_how_it_ended(tmp_path: Path, script: str, status: int) -> None:
    process, _ = guarded(tmp_path, "sh", "-c", script)
    assert process.run() == status


def test_what_cannot_be_started(tmp_path: Path) -> None:
    process, _ = guarded(tmp_path, "no-such-program")
    with pytest.raises(FileNotFoundError):
        process.run()
    process, _ = guarded(tmp_path, "true", limits={"RLIMIT_AS": 2**70})
    with pytest.raises(OSError, match="Invalid argument"):
        process.run()


def test_input_that_nobody_reads(tmp_path: Path) -> None:
    process, _ = guarded(tmp_path, "true", stdin=b"x" * 10_000_000)
    assert process.run() == 0


def test_one_that_is_ended_before_it_starts_does_nothing(tmp_path: Path) -> None:
    process, _ = guarded(tmp_path, "touch", "made")
    process.end()
    assert process.run() == -9
    assert list(tmp_path.iterdir()) == []


def test_ending_it_twice_and_from_another_thread(tmp_path: Path) -> None:
    begun = threading.Event()
    process = GuardedProcess(
        ["sh", "-c", "echo begun; exec tail -f /dev/null"],
        cwd=tmp_path,
        home=tmp_path,
        stdout=lambda _: begun.set(),
        stderr=lambda _: None,
    )
    status: list[int] = []
    runner = threading.Thread(target=lambda: status.append(process.run()))
    runner.start()
    assert begun.wait(60)
    process.end()
    process.end()
    runner.join()
    assert status == [-9]


def test_nothing_of_this_process_is_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary")
    with open(tmp_path / "secret", "wb") as secret:
        os.set_inheritable(secret.fileno(), True)
        process, said = guarded(tmp_path, "sh", "-c", "env; ls /proc/self/fd /proc/$PPID/fd")
        assert process.run() in (0, 2)
    assert b"canary" not in said.lower()
    assert str(secret.name).encode() not in said
    assert clean_environment(tmp_path)["HOME"] == str(tmp_path)


OWNER = """
import os, sys, pathlib
from ostinato.processes.guarded_process import GuardedProcess
folder = pathlib.Path(sys.argv[1])
script = "exec 3> begun; setsid tail -f /dev/null & echo begun; exec tail -f /dev/null"
GuardedProcess(
    ["sh", "-c", script], cwd=folder, home=folder,
    stdout=lambda _: os.kill(os.getpid(), 9), stderr=lambda _: None,
).run()
"""


def test_a_command_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    """The pipe comes to its end when the command and its daemon are dead."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)])
    begun.read_bytes()
    assert owner.wait() == -9


DAEMON_WITHOUT_GUARD = """
import os, signal
if os.fork() == 0:
    os.setsid()
    os.execlp("sleep", "sleep", "600")
os.kill(os.getppid(), signal.SIGKILL)
signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux only")
@pytest.mark.parametrize("seen", [[], [b""]], ids=["forked after the search", "amid exec"])
def test_a_daemon_that_a_search_missed_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: list[bytes]
) -> None:
    """A process in `exec` shows an empty environment; a new one is not in the list yet."""
    environment_of = guarded_process._environment_of  # pyright: ignore[reportPrivateUsage]
    searches = iter([True] * 2)
    process_ids = guarded_process._process_ids  # pyright: ignore[reportPrivateUsage]
    is_hidden = False

    def list_processes() -> list[int]:
        nonlocal is_hidden
        is_hidden = next(searches, False)
        return process_ids()

    monkeypatch.setattr(guarded_process, "_process_ids", list_processes)
    monkeypatch.setattr(
        guarded_process, "_environment_of", lambda pid: seen if is_hidden else environment_of(pid)
    )
    process, _ = guarded(tmp_path, sys.executable, "-c", DAEMON_WITHOUT_GUARD)
    process.run()
    mark = f"{guarded_process._MARK}={process._mark}".encode()  # pyright: ignore
    assert not [pid for pid in process_ids() if mark in environment_of(pid)]
