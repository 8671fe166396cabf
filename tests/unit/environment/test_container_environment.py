"""ContainerEnvironment on a program that stands for docker: its commands, its files, its end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ostinato.environment import BaseEnvironment, ContainerEnvironment
from ostinato.errors import AgentConfigError, InputValidationError
from tests.support.fake_containers import FakeContainers


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the program reads /proc")

IMAGE = "python:3.13-slim"


@pytest.fixture(name="fake")
def fixture_fake(tmp_path: Path) -> FakeContainers:
    return FakeContainers(tmp_path / "fake")


@pytest.fixture(name="place")
async def fixture_place(
    fake: FakeContainers, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ContainerEnvironment]:
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")
    place = ContainerEnvironment(
        IMAGE,
        container_cli=str(fake.program),
        env_vars={"COLOUR": "key-2 blue\ngreen", "HOME": "/tmp/home"},
    )
    await place.initialize()
    yield place
    await place.close()
    assert fake.running == []


async def test_a_container_lives_from_initialize_to_close(
    fake: FakeContainers, place: ContainerEnvironment
) -> None:
    assert isinstance(place, BaseEnvironment) and place.is_initialized
    assert place.working_dir == Path("/tmp/workspace")
    await place.initialize()
    (name,) = fake.running
    (call,) = fake.called("run")
    flags = call[: call.index("--entrypoint")]
    assert {"--rm", "--interactive", "--read-only", "--env=COLOUR", "--env=HOME=/tmp/home"} <= set(
        flags
    )
    assert flags[flags.index("--network") + 1] == "none" and name in flags
    # Values of variables stand in no list of processes.
    assert "key-" not in json.dumps(fake.calls) and "OPENAI_API_KEY" not in fake.environment("run")
    assert fake.environment("run")["COLOUR"] == "key-2 blue"
    await place.close()
    await place.close()
    assert not place.is_initialized and fake.running == []


async def test_commands_run_in_the_working_directory(place: ContainerEnvironment) -> None:
    given = await place.execute("pwd; echo no >&2; printf '\\377'; exit 3")
    assert given.exit_code == 3 and given.stderr == "no\n" and not given.timed_out
    folder, rest = given.stdout.split("\n")
    assert folder.endswith("/tmp/workspace") and rest == "\\xff"
    with pytest.raises(InputValidationError, match="NUL"):
        await place.execute("a\0b")


@pytest.mark.long
async def test_what_a_command_leaves_running_ends_with_it(place: ContainerEnvironment) -> None:
    given = await place.execute("sleep 600 & echo $!")
    assert not is_alive(given.stdout.strip())


@pytest.mark.long
async def test_a_timeout_ends_the_command_and_keeps_the_files(
    fake: FakeContainers, place: ContainerEnvironment
) -> None:
    given = await place.execute("echo $$ >pid; sleep 600; echo late", timeout=0.5)
    assert (given.timed_out, given.exit_code, given.stdout) == (True, -9, "")
    pid = (await place.read_file("pid")).decode().strip()
    assert not is_alive(pid) and len(fake.running) == 1


@pytest.mark.long
async def test_a_cancelled_command_is_ended(place: ContainerEnvironment) -> None:
    work = asyncio.ensure_future(place.execute("echo $$ >pid; sleep 600"))
    while True:
        try:
            if pid := (await place.read_file("pid")).decode().strip():
                break
        except FileNotFoundError:
            continue
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not is_alive(pid)


@pytest.mark.long
async def test_a_command_that_cannot_be_ended_ends_the_container(
    fake: FakeContainers, place: ContainerEnvironment
) -> None:
    command = asyncio.ensure_future(place.execute("touch begun; sleep 600", timeout=0.6))
    while not [*fake.folder.glob("box/*/tmp/workspace/begun")]:  # noqa: ASYNC110
        await asyncio.sleep(0)
    fake.fail("exec", "the daemon is gone")
    assert (await command).timed_out and fake.running == []
    with pytest.raises(RuntimeError, match=r"has ended.*Await initialize"):
        await place.execute("true")


async def test_files_are_written_and_read(place: ContainerEnvironment) -> None:
    await place.write_file("a/$(touch evil)/--help", "text\u00fc")
    await place.write_file(Path("/tmp/b"), b"\x00\xff")
    assert await place.read_file("a/$(touch evil)/--help") == "text\u00fc".encode()
    assert await place.read_file("../b") == b"\x00\xff"
    assert (await place.execute("ls")).stdout == "a\n"
    with pytest.raises(FileNotFoundError, match="'none'"):
        await place.read_file("none")
    with pytest.raises(OSError, match="not a plain file"):
        await place.read_file("a")
    with pytest.raises(OSError, match="cannot be written"):
        await place.write_file("/proc/none", "x")
    with pytest.raises(InputValidationError, match="NUL"):
        await place.read_file("a\0b")


@pytest.mark.long
async def test_only_regular_files_of_a_bounded_size_are_read_and_written(
    fake: FakeContainers,
) -> None:
    place = ContainerEnvironment(IMAGE, container_cli=str(fake.program), max_file_bytes=4)
    await place.initialize()
    try:
        await place.execute("mkfifo pipe; truncate -s 1T sparse; printf 1234 >-four")
        for using in (place.read_file("pipe"), place.write_file("pipe", "x")):
            with pytest.raises(OSError, match="not a plain file"):
                await using
        with pytest.raises(OSError, match="more than 4 bytes"):
            await place.read_file("sparse")
        assert await place.read_file("-four") == b"1234"
    finally:
        await place.close()
    with pytest.raises(AgentConfigError, match="max_file_bytes"):
        ContainerEnvironment(IMAGE, max_file_bytes=0)


async def test_a_container_that_does_not_start_says_why(fake: FakeContainers) -> None:
    place = ContainerEnvironment(IMAGE, container_cli=str(fake.program))
    with pytest.raises(RuntimeError, match=r"await initialize\(\)"):
        await place.execute("true")
    fake.fail("run", "exec: /bin/sh: not found", 127)
    with pytest.raises(AgentConfigError, match=r"does not start.*/bin/sh: not found"):
        await place.initialize()
    assert not place.is_initialized


@pytest.mark.parametrize("status", [0, 3])
async def test_container_that_ends_at_once_is_told(status: int, fake: FakeContainers) -> None:
    fake.answer("run", f"exit {status}")
    place = ContainerEnvironment(IMAGE, container_cli=str(fake.program))
    wanted = rf"does not start: it ended at once with exit status {status}\. It said: nothing$"
    with pytest.raises(AgentConfigError, match=wanted):
        await place.initialize()


async def test_a_cancelled_start_leaves_no_container(fake: FakeContainers) -> None:
    place = ContainerEnvironment(IMAGE, container_cli=str(fake.program))
    work = asyncio.ensure_future(place.initialize())
    while not fake.called("image"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    while not fake.called("rm"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    while fake.running:  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "settings",
    [
        {"image": "--privileged"},
        {"user": "0"},
        {"env_vars": {"--env-file": "x"}},
        {"env_vars": {"A=B": "x"}},
        {"working_dir": Path("/etc")},
        {"working_dir": Path("/tmp/../etc")},
        {"working_dir": Path("/tmp")},
        {"max_memory_bytes": 0},
        {"max_processes": 0},
    ],
)
def test_settings_that_give_up_the_protection_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(AgentConfigError):
        ContainerEnvironment(**{"image": IMAGE, **settings})  # type: ignore[arg-type]


async def test_sizes_and_times_are_checked(place: ContainerEnvironment) -> None:
    with pytest.raises(OSError, match="would have more than"):
        await place.write_file("a", bytes(16 * 2**20 + 1))
    with pytest.raises(InputValidationError, match="NaN"):
        await place.execute("true", timeout=float("nan"))
