"""SandboxedLocalCodeExecutor: what code can do in it, and the ways out that it closes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.code_executors import _workspace
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from ostinato.code_executors.sandboxed_local_code_executor import SandboxedLocalCodeExecutor
from ostinato.errors import AgentConfigError
from ostinato.processes.sandbox import init_main
from ostinato.processes.sandbox import sandbox as sandbox_module
from ostinato.processes.sandbox.sandbox import MECHANISMS, SandboxReport, probe_sandbox
from tests.support.escapes import GROUPS, Escape, write_attempts

from .kit import NO_CONTEXT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's"),
]
# With what every machine has the tests run; bubblewrap is one more where it is installed.
_USABLE = [one for one in MECHANISMS if one != "bubblewrap" or shutil.which("bwrap")]


@pytest.fixture(name="mechanism", params=_USABLE)
def fixture_mechanism(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    if request.param == "landlock" and os.getuid() == 0:
        # As root, Landlock alone needs an interpreter that other users may run.
        monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
        monkeypatch.setattr(sys, "prefix", "/usr")
        monkeypatch.setattr(sys, "base_prefix", "/usr")
    probe_sandbox.cache_clear()
    yield request.param
    probe_sandbox.cache_clear()


def make(mechanism: Any, **settings: Any) -> SandboxedLocalCodeExecutor:
    small: dict[str, Any] = {
        "timeout_seconds": 20,
        "max_memory_bytes": 300_000_000,
        "max_processes": 24,
        "max_disk_bytes": 32_000_000,
        "max_file_bytes": 8_000_000,
    }
    return SandboxedLocalCodeExecutor(mechanism=mechanism, **{**small, **settings})


def run(code: str, mechanism: str, *files: File, **settings: Any) -> CodeExecutionResult:
    wanted = CodeExecutionInput(code=code, input_files=list(files))
    return make(mechanism, **settings).execute_code(NO_CONTEXT, wanted)


@pytest.fixture(name="outside")
def fixture_outside() -> Iterator[dict[str, object]]:
    """Things that code must not reach, where every user of the machine could reach them."""
    folder = Path("/var/tmp") / f"ostinato-outside-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "secret").write_text("the secret")
    (folder / "secret").chmod(0o666)
    victim = subprocess.Popen(["/bin/sleep", "60"])
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        unix.bind(str(folder / "unix"))
        (folder / "unix").chmod(0o777)
        unix.listen()
        abstract.bind(f"\0ostinato-{os.getpid()}")
        abstract.listen()
        yield {
            "outside": folder,
            "secret": folder / "secret",
            "victim": victim.pid,
            "port": server.getsockname()[1],
            "unix": folder / "unix",
            "abstract": f"ostinato-{os.getpid()}",
        }
    assert victim.poll() is None, "the process outside was ended"
    victim.kill()
    victim.wait()
    shutil.rmtree(folder)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].name)
def test_no_way_out(group: tuple[Escape, ...], mechanism: str, outside: dict[str, object]) -> None:
    result = run(write_attempts(group, outside), mechanism)
    assert "all tried\n" in result.stdout and not result.stderr, result
    allowed = {f"ESCAPED {one.name}" for one in group if mechanism in one.not_promised}
    assert {line for line in result.stdout.splitlines() if "ESCAPED" in line} <= allowed
    assert Path(str(outside["secret"])).read_text() == "the secret"


def test_the_page_lists_every_attempt() -> None:
    names = [escape.name for group in GROUPS for escape in group]
    assert len(set(names)) == len(names) >= 50
    page = Path(__file__).parents[3] / "docs" / "sandboxes.md"
    told = page.read_text(encoding="utf-8")
    assert [name for name in names if name not in told] == []


def test_files_come_in_and_go_out(mechanism: str) -> None:
    given = run(
        "import os\n"
        "text = open('a/in.txt').read()\n"
        "os.makedirs('d/e'); open('d/e/out.txt', 'w').write(text.upper())\n"
        "os.symlink('/etc/hostname', 'link'); os.mkfifo('pipe')\n"
        "print(os.listdir('.') and 'ok')",
        mechanism,
        File("a/in.txt", b"hello", "text/plain"),
        File("same.txt", b"same", "text/plain"),
    )
    assert (given.stdout, given.stderr) == ("ok\n", "")
    assert [(file.name, file.content) for file in given.output_files] == [("d/e/out.txt", b"HELLO")]


def test_folders_locked_and_deep_ones_come_back_or_are_noted(mechanism: str) -> None:
    given = run(
        "import os\nopen('f', 'w').write('x'); os.mkdir('shut'); open('shut/g', 'w').write('y')\n"
        + ("" if mechanism == "landlock" else "os.chmod('shut', 0); os.chmod('f', 0)\n")
        + "for _ in range(80): os.mkdir('n'); os.chdir('n')\nopen('deep', 'w')",
        mechanism,
    )
    assert [file.name for file in given.output_files] == ["f", "shut/g"]
    assert "folders below 64 levels" in given.stdout


def test_files_whose_names_are_no_text_are_noted(mechanism: str) -> None:
    given = run(
        "import os\nopen('kept', 'w'); open('a\\nb\\x1b[31m', 'w'); open(b'\\xff', 'w')\n"
        "os.mkdir(b'\\xfe'); open(b'\\xfe/c', 'w')\n",
        mechanism,
    )
    assert [file.name for file in given.output_files] == ["kept"]
    for name in (r"'a\nb\x1b[31m'", r"'\udcff'", r"'\udcfe/c'"):
        assert f"{name} (its name is not printable)" in given.stdout


def test_errors_and_signals_are_the_codes_own(mechanism: str) -> None:
    assert "ZeroDivisionError" in run("1 / 0", mechanism).stderr
    assert "SIGKILL" in run("import os; os.kill(os.getpid(), 9)", mechanism).stderr
    assert "exit status 3" in run("raise SystemExit(3)", mechanism).stderr


def test_ordinary_work_goes_on_inside(mechanism: str) -> None:
    given = run(
        "import tempfile, subprocess, json, socket\n"
        "with tempfile.TemporaryFile() as f: f.write(b'x')\n"
        "print(subprocess.run('echo shell', shell=True, capture_output=True).stdout)\n"
        "a, b = socket.socketpair(); a.send(b'1'); print(b.recv(1))\n"
        "import asyncio; print(asyncio.run(asyncio.sleep(0, 'async')))",
        mechanism,
    )
    assert given.stdout == "b'shell\\n'\nb'1'\nasync\n", given


def test_what_it_leaves_running_ends_with_it(mechanism: str, tmp_path: Path) -> None:
    mark = f"ostinato-left-{os.getpid()}-{tmp_path.name}"
    code = (
        "import os, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(50)', {mark!r}],\n"
        "    start_new_session=True, env={}, stdin=-3, stdout=-3, stderr=-3)\n"
        "print('left')"
    )
    assert run(code, mechanism).stdout == "left\n"
    assert not _find_processes(mark)


def test_endless_and_wordy_code_is_stopped(mechanism: str) -> None:
    late = run("import time\nwhile True: time.sleep(1)", mechanism, timeout_seconds=1)
    assert "longer than 1 s" in late.stderr
    wordy = run("while True: print('x' * 10_000)", mechanism, max_output_bytes=10_000)
    assert "printed more than" in wordy.stderr and len(wordy.stdout) < 11_000


async def test_a_cancelled_caller_ends_it(mechanism: str) -> None:
    mark = f"ostinato-cancelled-{os.getpid()}"
    code = f"import sys, subprocess; subprocess.run(['/bin/sh', '-c', 'sleep 50; echo {mark}'])"
    executor = make(mechanism)
    task = asyncio.create_task(
        executor.execute_code_async(NO_CONTEXT, CodeExecutionInput(code=code))
    )
    async with asyncio.timeout(20):
        await asyncio.to_thread(_wait_for_process, mark)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _find_processes(mark)


def test_more_can_be_shown_to_read(mechanism: str, outside: dict[str, object]) -> None:
    code = f"print(open('{outside['secret']}').read()); open('{outside['secret']}', 'a')"
    given = run(code, mechanism, readable_paths=(Path(str(outside["secret"])),))
    assert given.stdout == "the secret\n" and "Error" in given.stderr


def test_a_path_that_cannot_be_shown_is_refused(
    mechanism: str, outside: dict[str, object], tmp_path: Path
) -> None:
    for path in (tmp_path / "none", Path("/dev/null"), Path(str(outside["unix"]))):
        with pytest.raises(AgentConfigError, match="neither a file nor a folder"):
            run("", mechanism, readable_paths=(path,))


def test_a_socket_in_a_readable_folder_cannot_be_reached(
    mechanism: str, outside: dict[str, object], tmp_path: Path
) -> None:
    code = f"import socket; socket.socket(socket.AF_UNIX).connect('{outside['unix']}')"
    link = tmp_path / "link"
    link.symlink_to(str(outside["outside"]))
    for folder in (Path(str(outside["outside"])), link):
        if mechanism == "landlock":
            assert "Error" in run(code, mechanism, readable_paths=(folder,)).stderr
            continue
        with pytest.raises(AgentConfigError, match="holds the socket"):
            run(code, mechanism, readable_paths=(folder,))


def test_files_with_holes_count_with_their_size(mechanism: str) -> None:
    given = run(
        "for n in range(8): open(f'{n}', 'wb').truncate(1_000_000)",
        mechanism,
        max_disk_bytes=3_500_000,
    )
    assert [file.name for file in given.output_files] == ["0", "1", "2"]
    assert "`3` (the limit of all files is 3500000 bytes)" in given.stdout
    given = run(
        "file = open('data', 'wb'); file.seek(500_000)\n"
        "file.write(b'x' * 9); file.truncate(900_000)",
        mechanism,
    )
    content = bytes(500_000) + b"x" * 9 + bytes(399_991)
    assert [file.content for file in given.output_files] == [content]


def test_the_environment_is_empty_of_keys(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "sk-1")
    given = run("import os; print(sorted(os.environ))", mechanism)
    assert given.stdout == "['HOME', 'LANG', 'PATH', 'TMPDIR']\n"


def test_what_holds_is_told(mechanism: str) -> None:
    report = make(mechanism).describe_sandbox()
    expected = {"files", "network", "signals", "memory", "processes", "calls"}
    assert report.holds == expected | ({"disk"} if mechanism != "landlock" else set())


def test_a_protection_that_is_required_and_missing_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weak = SandboxReport(frozenset({"memory"}), 0)
    monkeypatch.setattr(sandbox_module, "probe_sandbox", lambda mechanism: weak)
    executor = SandboxedLocalCodeExecutor(required=("files", "disk"))
    with pytest.raises(AgentConfigError, match="landlock: no protection of files, disk"):
        executor.execute_code(NO_CONTEXT, CodeExecutionInput(code="1"))
    with pytest.raises(AgentConfigError, match="Unknown protections"):
        SandboxedLocalCodeExecutor(required=("luck",)).execute_code(
            NO_CONTEXT, CodeExecutionInput(code="1")
        )


def _wait_for_process(mark: str) -> None:
    while not _find_processes(mark):
        continue


def _find_processes(mark: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(name)
        except OSError:
            continue
    return [name for name in found if int(name) != os.getpid()]


def test_folders_without_files_are_not_brought_back(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "empty" / "below", inside / "full" / "below"):
        folder.mkdir(parents=True)
    (inside / "full" / "below" / "a").write_text("1")
    descriptor = os.open(outside, os.O_RDONLY)
    init_main.Files(descriptor, str(inside)).bring_back()
    os.close(descriptor)
    found = sorted(str(path.relative_to(outside)) for path in outside.rglob("*"))
    assert found == ["full", "full/below", "full/below/a"]


def test_a_removal_that_takes_long_does_not_hold_up_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed, done = threading.Event(), threading.Event()
    really_remove = _workspace._remove_all

    def remove_late(root: Path) -> None:
        allowed.wait()
        really_remove(root)
        done.set()

    monkeypatch.setattr(_workspace, "_remove_all", remove_late)
    monkeypatch.setattr(_workspace, "_LONGEST_REMOVAL_S", 0.01)
    (tmp_path / "a" / "b").mkdir(parents=True)
    _workspace.remove_tree(tmp_path / "a")
    assert (tmp_path / "a").exists()
    allowed.set()
    assert done.wait(10) and not (tmp_path / "a").exists()


async def test_an_interpreter_that_is_called_by_a_relative_path_works(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("executable", "prefix", "base_prefix"):
        path = Path(getattr(sys, name))
        monkeypatch.setattr(sys, name, str(path.parent / ".." / path.parent.name / path.name))
    found = await make(mechanism).execute_code_async(NO_CONTEXT, CodeExecutionInput("print(1)"))
    assert (found.stdout, found.stderr) == ("1\n", "")
