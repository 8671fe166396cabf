"""Process identity: a live process is never taken for dead, a dead one of this host always is."""

from __future__ import annotations

import os
import subprocess
import sys

from ostinato.durable.process_identity import host_identity, is_dead, process_identity

PRINT = "from ostinato.durable.process_identity import process_identity; print(process_identity())"


def test_this_process_is_alive() -> None:
    assert not is_dead(process_identity())


def test_a_child_is_alive_until_it_ends() -> None:
    child = subprocess.Popen(
        [sys.executable, "-uc", f"{PRINT}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    identity = child.stdout.readline().strip()
    assert f"|{child.pid}|" in identity
    alive = not is_dead(identity)
    child.communicate("\n")
    assert alive
    assert is_dead(identity)


def test_a_child_that_died_and_was_not_waited_for_is_dead() -> None:
    child = subprocess.Popen(
        [sys.executable, "-uc", f"{PRINT}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdin is not None
    identity = child.stdout.readline().strip()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it ended, and nobody took note
    assert is_dead(identity)
    child.wait()
    child.stdin.close()
    child.stdout.close()


def test_a_number_given_to_another_process_does_not_hide_a_death() -> None:
    host, pid = host_identity(), process_identity().split("|")[-2]
    assert is_dead(f"{host}|{pid}|1")


def test_nothing_is_said_about_other_hosts_or_strange_text() -> None:
    for other in ("elsewhere|boot|ns|1|2", "", "|", f"{host_identity()}|x|1"):
        assert not is_dead(other)
