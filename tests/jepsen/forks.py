"""Fork servers: processes in the places of a network that start clients and judges at once.

`python -m tests.jepsen.forks` has everything imported. For each path of a plan that it reads from
its input it forks a process that does what the plan says, writes the process's number, waits for
its end and writes its exit code.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from ostinato.sessions.in_memory_session_service import InMemorySessionService
from tests.crash.world import Record
from tests.jepsen.agent import APP, USER, Tools
from tests.jepsen.client import ClientPlan, open_runner, run_client
from tests.jepsen.network import Network
from tests.jepsen.planted import plant
from tests.jepsen.servers import end_with_parent
from tests.jepsen.settle import judge_round

_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 60.0
_DRIVERS = ("sqlalchemy.ext.asyncio", "asyncpg", "aiomysql")
_PR_SET_PDEATHSIG = 1


class ForkServer:
    """A fork server, seen from the process that started it; it has one child at a time.

    Args:
      number: its place in the network.
      network: the network.
      folder: where its errors go.
    """

    def __init__(self, number: int, network: Network, folder: Path) -> None:
        command = end_with_parent([sys.executable, "-m", "tests.jepsen.forks"])
        self._errors = folder / f"forks{number}.errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                network.wrap_client(number, command),
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
        self._rest = b""

    def start(self, plan: ClientPlan) -> int:
        """Start a process that does what a plan says; return its number."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{plan.save()}\n".encode())
        pid = self._read_number(_START_SECONDS)
        if pid is None:
            raise RuntimeError(f"A fork server does not answer: {self._errors.read_text()}")
        return pid

    def wait(self, seconds: float) -> int | None:
        """Wait for the end of its child; return the exit code, or None if it did not come."""
        return self._read_number(seconds)

    def _read_number(self, seconds: float) -> int | None:
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([output], [], [], seconds)
            found = os.read(output, 64) if ready else b""
            if not found:
                return None
            self._rest += found
        line, _, self._rest = self._rest.partition(b"\n")
        return int(line)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _warm_up() -> None:
    """Import and build what a client needs, without a thread that a fork would miss."""
    for driver in _DRIVERS:
        with suppress(ImportError):
            import_module(driver)

    async def run_turn(folder: Path) -> None:
        service = InMemorySessionService()
        await service.create_session(app_name=APP, user_id=USER, session_id="s")
        runner = open_runner(service, Tools(Record(folder / "effects"), 0.0))
        for message in ("m-1", "q-1"):
            async for _ in runner.run_async(user_id=USER, session_id="s", new_message=message):
                pass
        await runner.close()

    with TemporaryDirectory() as folder:
        asyncio.run(run_turn(Path(folder)))
    assert threading.active_count() == 1, "a forked process would miss the other threads"


def _follow_plan(path: Path) -> None:
    """Do what a plan says; its name tells whether it is a client's or the judge's."""
    plan = ClientPlan(**json.loads(path.read_text()))
    if plan.name in ("create", "settle"):
        asyncio.run(judge_round(plan))
        return
    with plant(plan.plant):
        asyncio.run(run_client(plan))


def _be_child(path: Path) -> None:
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        errors = os.open(path.with_suffix(".errors"), os.O_WRONLY | os.O_CREAT)
        for number, target in ((0, nowhere), (1, nowhere), (2, errors)):
            os.dup2(target, number)
        _follow_plan(path)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Fork a process for each line of the input."""
    logging.disable(logging.CRITICAL)
    _warm_up()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _be_child(Path(line.strip()))
        os.write(1, f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
