"""The peers as child processes on loopback, one of each for a test process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .environments import set_up

HERE = Path(__file__).parent


@contextmanager
def child(command: list[str], log: Path) -> Iterator[str]:
    """Run a server and give the address that it prints; it ends when its input does."""
    with (
        open(log, "wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("listening "):
                    yield line.split()[1]
                    break
            else:
                raise RuntimeError(f"the peer did not start:\n{log.read_text()}")
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's server, on a model that calls a tool, then says "Done."."""
    folder = tmp_path_factory.mktemp("llama")
    python, model = str(set_up("llama") / "bin" / "python"), str(folder / "table.gguf")
    subprocess.run([python, str(HERE / "llama_model.py"), model], check=True)
    with child([python, str(HERE / "llama_server.py"), model], folder / "log.txt") as url:
        yield url


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of aimock, which knows "Hello" and one question about the weather."""
    log = tmp_path_factory.mktemp("aimock") / "log.txt"
    command = ["node", str(HERE / "aimock_server.cjs"), str(set_up("aimock"))]
    with child(command, log) as url:
        yield url
