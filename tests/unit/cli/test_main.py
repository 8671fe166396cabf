"""The command as a process of its own: help, version, exit codes, and what is imported for what."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import MakeAgent, Ostinato

pytestmark = pytest.mark.long

SLOW = """
import sys
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call

async def wait() -> str:
    import asyncio
    print("waiting", file=sys.stderr, flush=True)
    await asyncio.Event().wait()

def answer(request):
    last = request.contents[-1].parts[-1]
    return call("wait") if last.text == "wait" else f"I saw {len(request.contents)} contents."

root_agent = Agent(name="slow", model=FunctionModel(answer), tools=[wait])
"""


def process(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m ostinato`."""
    return subprocess.run(
        [sys.executable, "-m", "ostinato", *argv],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_version_help_and_wrong_usage() -> None:
    assert process("--version").stdout.startswith("ostinato ")
    done = process("--help")
    assert done.returncode == 0
    assert "ostinato run my_agent" in done.stdout
    assert process().returncode == 2
    assert process("fly").returncode == 2


def test_run_as_a_process_and_the_command_it_shows(make_agent: MakeAgent) -> None:
    make_agent(SLOW)
    done = process("run", "desk", "hello", "--session", "s")
    assert done.returncode == 0, done.stderr
    assert "  I saw 1 contents." in done.stdout
    assert done.stdout.splitlines()[-1] == "  python -m ostinato run desk --session s"


def test_ctrl_c_cancels_the_turn_and_the_session_goes_on(make_agent: MakeAgent) -> None:
    make_agent(SLOW)
    command = [sys.executable, "-m", "ostinato", "run", "desk", "--session", "s"]
    with subprocess.Popen(
        [*command, "wait"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "waiting\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130, err
    assert "Cancelling" in out
    assert "Session s is stored" in out
    done = process("run", "desk", "hello", "--session", "s")
    assert "  I saw 4 contents." in done.stdout, "the call that was cancelled has its answer"


def test_a_second_ctrl_c_ends_at_once_though_the_loop_is_held_up(make_agent: MakeAgent) -> None:
    make_agent(SLOW.replace("await asyncio.Event().wait()", "import time; time.sleep(60)"))
    with subprocess.Popen(
        [sys.executable, "-m", "ostinato", "run", "desk", "wait"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "waiting\n"
        # Signals that arrive together count once: the second is sent until it has its effect.
        while running.poll() is None:
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(0.05)
    assert running.returncode == -signal.SIGINT


def test_a_reader_that_goes_away_is_no_traceback(make_agent: MakeAgent) -> None:
    make_agent(SLOW)
    with subprocess.Popen(
        [sys.executable, "-m", "ostinato", "run", "desk", "hello"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert "Traceback" not in running.stderr.read()


def test_the_offline_run_imports_no_prompt(make_agent: MakeAgent) -> None:
    make_agent(SLOW)
    code = (
        "import sys; from ostinato.cli.main import main; main(['run', 'desk', 'hi']); "
        "print('prompt_toolkit' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_an_encoding_without_arrows_gets_plain_signs(make_agent: MakeAgent) -> None:
    make_agent(SLOW)
    done = subprocess.run(
        [sys.executable, "-m", "ostinato", "run", "desk", "hello → you"],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"> hello -> you")


def test_a_store_that_is_no_file_is_an_error(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(SLOW)
    Path("file").touch()
    done = ostinato("run", "desk", "hello", "--db", "file/x.db")
    assert done.code == 1
    assert "Name another file with --db" in done.err
    done = ostinato("run", "desk", "hello", "--db", ".")
    assert done.code == 1
    assert done.err.startswith("error: StoreError: ")


@pytest.mark.parametrize("argv", [("run",), ("sessions",), ("sessions", "show")])
def test_incomplete_commands_are_wrong_usage(ostinato: Ostinato, argv: tuple[str, ...]) -> None:
    done = ostinato(*argv)
    assert done.code == 2
    assert done.err.startswith("usage: ")
