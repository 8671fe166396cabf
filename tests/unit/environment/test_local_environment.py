"""LocalEnvironment: its directory, its commands and its files, as google-adk's."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from ostinato.environment import BaseEnvironment, ExecutionResult, LocalEnvironment
from ostinato.errors import AgentConfigError, InputValidationError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are POSIX")


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> LocalEnvironment:
    return LocalEnvironment(working_dir=tmp_path, env_vars={"COLOUR": "blue"})


async def test_a_temporary_directory_lives_from_initialize_to_close() -> None:
    place = LocalEnvironment()
    assert isinstance(place, BaseEnvironment) and not place.is_initialized
    await place.initialize()
    folder = place.working_dir
    await place.initialize()
    assert place.is_initialized and place.working_dir == folder and folder.is_dir()
    await place.write_file("a", "x")
    await place.close()
    await place.close()
    assert not place.is_initialized and not folder.exists()


async def test_before_initialize_there_is_no_directory() -> None:
    place = LocalEnvironment()
    for use in (place.execute("true"), place.read_file("a"), place.write_file("a", "")):
        with pytest.raises(RuntimeError, match="initialize"):
            await use


async def test_a_given_directory_is_made_and_kept(tmp_path: Path) -> None:
    place = LocalEnvironment(working_dir=tmp_path / "new" / "one")
    assert not (tmp_path / "new").exists()
    await place.initialize()
    await place.close()
    assert place.working_dir == tmp_path / "new" / "one" and place.working_dir.is_dir()


async def test_a_command_runs_in_a_shell_with_the_environment_of_the_process(
    place: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN", "mine")
    given = await place.execute("pwd; echo $COLOUR $OWN; cat; echo no >&2; exit 3")
    assert given == ExecutionResult(3, f"{place.working_dir}\nblue mine\n", "no\n")
    odd = await place.execute(r"printf 'a\377'")
    assert odd.stdout == "a\\xff"


async def test_a_command_that_takes_too_long_is_ended(place: LocalEnvironment) -> None:
    given = await place.execute("echo begun; sleep 60 & sleep 60", timeout=0.3)
    assert given == ExecutionResult(-9, "begun\n", "", timed_out=True)


@pytest.mark.parametrize("command", [5, None, "a\0b"])
async def test_what_is_no_command_is_refused(place: LocalEnvironment, command: object) -> None:
    with pytest.raises(InputValidationError, match="has to be a text"):
        await place.execute(command)  # type: ignore[arg-type]


async def test_files(place: LocalEnvironment) -> None:
    await place.write_file("deep/er/a.txt", "grün\r\n")
    assert await place.read_file(Path("deep/er/a.txt")) == "grün\r\n".encode()
    await place.write_file(place.working_dir / "b", b"\xff")
    assert await place.read_file(place.working_dir / "b") == b"\xff"
    with pytest.raises(FileNotFoundError):
        await place.read_file("none")
    with pytest.raises(IsADirectoryError):
        await place.read_file("deep")


def test_an_environment_of_ones_own() -> None:
    assert BaseEnvironment.__abstractmethods__ == {
        "working_dir",
        "execute",
        "read_file",
        "write_file",
    }


async def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    place = LocalEnvironment(working_dir=tmp_path, max_file_bytes=4)
    await place.write_file("four", "1234")
    (tmp_path / "five").write_text("12345")
    assert await place.read_file("four") == b"1234"
    with pytest.raises(OSError, match="more than 4 bytes"):
        await place.read_file("five")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 2**40)
    with pytest.raises(OSError, match="more than 16,777,216 bytes"):
        await LocalEnvironment(working_dir=tmp_path).read_file("sparse")
    with pytest.raises(AgentConfigError, match="max_file_bytes"):
        LocalEnvironment(max_file_bytes=0)


async def test_only_regular_files_are_read_and_written(
    place: LocalEnvironment, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        for name in ("pipe", "link", "s"):
            with pytest.raises(OSError, match="not a regular file"):
                await place.read_file(name)
            with pytest.raises(OSError, match="not a regular file"):
                await place.write_file(name, "x")
    with pytest.raises(IsADirectoryError):
        await place.write_file(".", "x")


@pytest.mark.skipif(sys.platform != "linux", reason="it has such files in /proc")
async def test_a_file_that_hides_its_size_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="more than 10 bytes"):
        await LocalEnvironment(working_dir=tmp_path, max_file_bytes=10).read_file("/proc/cpuinfo")


async def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    place = LocalEnvironment(working_dir=tmp_path, max_file_bytes=4)
    await place.initialize()
    await place.write_file("a", "1234")
    with pytest.raises(OSError, match="'a' would have more than 4 bytes"):
        await place.write_file("a", "ä234")
    assert await place.read_file("a") == b"1234"


async def test_a_timeout_that_is_no_number_is_refused(tmp_path: Path) -> None:
    place = LocalEnvironment(working_dir=tmp_path)
    await place.initialize()
    with pytest.raises(InputValidationError, match="NaN"):
        await place.execute("true", timeout=float("nan"))
