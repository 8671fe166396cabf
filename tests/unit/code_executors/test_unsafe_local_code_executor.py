"""Code of all kinds, above all bad, in the local executor's child process."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ostinato._adk_mode import set_follows_adk
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)

from .kit import NO_CONTEXT

pytestmark = [pytest.mark.spec(167), pytest.mark.long]


def run(code: str, *files: File, **settings: Any) -> CodeExecutionResult:
    executor = UnsafeLocalCodeExecutor(**settings)
    return executor.execute_code(NO_CONTEXT, CodeExecutionInput(code=code, input_files=list(files)))


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe. Who reads it to its end knows that all its writers are dead."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("code", "stdout"),
    [
        ("print(1 + 2)", "3\n"),
        ("", ""),
        ("print('h\u00e9 \U0001f3b5')", "h\u00e9 \U0001f3b5\n"),
        ("if __name__ == '__main__':\n  print('main')", "main\n"),
        ("raise SystemExit", ""),
        ("import sys; print('w', file=sys.stderr); print('o')", "o\nw\n"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "\ufffd"),
        ("import sys; print(sys.argv[1:], sys.flags.isolated)", "[] 1\n"),
        (
            "import pickle\nclass A: x = 1\nprint(pickle.loads(pickle.dumps(A())).x)",
            "1\n",
        ),
    ],
)
def test_what_works(code: str, stdout: str) -> None:
    assert run(code) == CodeExecutionResult(stdout=stdout)


@pytest.mark.parametrize(
    ("code", "stderr"),
    [
        (
            "def f():\n  1/0\nf()",
            'Traceback (most recent call last):\n  File "<code>", line 3, in <module>\n    f()\n',
        ),
        ("def f(:\n  pass", '  File "<code>", line 1\n    def f(:\n'),
        ("x = '\0'", "SyntaxError"),
        ("import no_such_module_here", "ModuleNotFoundError: No module named"),
        ("import sys; sys.exit(3)", "The code ended with exit status 3."),
        ("import sys; sys.exit('out of cheese')", "out of cheese\n"),
        ("import os; os._exit(1)", "The code ended with exit status 1."),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "ended by signal SIGTERM."),
        ("input()", "EOFError"),
    ],
)
def test_what_fails(code: str, stderr: str) -> None:
    result = run("print('before')\n" + code if "def" not in code else code)
    assert stderr in result.stderr
    assert "_child_main" not in result.stderr
    assert result.output_files == []


def test_what_was_printed_before_a_failure_is_kept() -> None:
    result = run("print('before')\nraise ValueError('no')")
    assert result.stdout == "before\n" and result.stderr.endswith("\nValueError: no\n")


@pytest.mark.parametrize("body", ["pass", "time.sleep(600)", "signal.signal(15, signal.SIG_IGN)"])
def test_endless_code_is_stopped(body: str) -> None:
    code = f"import signal, time\nprint('before', flush=True)\nwhile True: {body}"
    result = run(code, timeout_seconds=0.7)
    assert result.stderr == "Code execution was stopped: it ran longer than 0.7 s."


def test_output_is_cut_in_the_middle() -> None:
    result = run("print('a' * 500 + 'b' * 500, end='')", max_output_bytes=100)
    assert result.stdout == "a" * 50 + "\n[... 900 bytes left out ...]\n" + "b" * 50


def test_end_of_a_long_traceback_is_kept() -> None:
    result = run("def f(n):\n  g(n)\ndef g(n):\n  f(n)\nf(0)", max_output_bytes=4000)
    assert "RecursionError" in result.stderr and len(result.stderr) < 4200
    assert "bytes left out" in result.stderr


def test_a_flood_of_output_is_stopped() -> None:
    result = run("while True: print('x' * 100_000)", max_output_bytes=1000)
    assert "it printed more than 64000 bytes" in result.stderr
    assert len(result.stdout) < 1100


def test_fifty_megabytes_on_stderr() -> None:
    result = run("import sys; sys.stderr.write('x' * 50_000_000)")
    assert "Code execution was stopped: it printed more than" in result.stderr
    assert len(result.stderr) < 140_000


def test_memory_is_bounded() -> None:
    result = run("x = bytearray(1024**3)", max_memory_bytes=512 * 1024**2)
    assert result.stderr.endswith("MemoryError\n")


def test_size_of_written_files_is_bounded() -> None:
    code = "with open('big', 'wb') as file:\n  file.write(bytes(3000))"
    assert "File too large" in run(code, max_file_bytes=2000).stderr


def test_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-value")
    monkeypatch.setenv("PYTHONPATH", "/canary-value")
    result = run("import os, sys; print(sorted(os.environ), dict(os.environ), sys.path)")
    assert result.stdout.startswith("['HOME', 'LANG', 'OSTINATO_PROCESS', 'PATH', 'TMPDIR']")
    assert "canary" not in result.stdout.lower()


def test_open_files_are_not_inherited(tmp_path: Path) -> None:
    with open(tmp_path / "secret", "wb") as secret:
        os.set_inheritable(secret.fileno(), True)
        result = run(f"import os\nos.fstat({secret.fileno()})")
    assert "Bad file descriptor" in result.stderr


def test_children_die_with_the_code(pipe: Path) -> None:
    code = f"""
import os, time
writer = os.open({str(pipe)!r}, os.O_WRONLY)
for _ in range(20):
    if os.fork() == 0:
        os.write(writer, b"x")
        time.sleep(600)
os.write(writer, b"done")
"""
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert run(code).stderr == ""
    reader.join(timeout=60)
    assert said and b"done" in said[0]


DAEMON = """
import os
writer = os.open({pipe!r}, os.O_WRONLY)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.set_inheritable(writer, True)
        os.execlp("sleep", "sleep", "600")
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux only")
@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("pass", ""),
        ("while True: pass", "Code execution was stopped: it ran longer than 1 s."),
        (
            "import signal; os.kill(os.getppid(), 9); signal.pause()",
            "Code execution was ended by signal SIGKILL.",
        ),
    ],
)
def test_daemons_die_with_the_code(pipe: Path, then: str, said: str) -> None:
    """The reader comes to the end of the pipe only when the daemon is dead."""
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    code = DAEMON.format(pipe=str(pipe)) + then
    assert run(code, timeout_seconds=1.0 if "1 s" in said else None).stderr == said
    reader.join(timeout=60)
    assert read == [b""]


def test_working_directory_is_its_own_and_temporary() -> None:
    place = Path.cwd()
    result = run("import os, tempfile; print(os.getcwd(), tempfile.mkdtemp())")
    work, temporary = map(Path, result.stdout.split())
    assert place not in (work, *work.parents)
    assert not work.exists() and not temporary.exists()
    assert result.output_files == []


def test_files_go_in_and_come_out() -> None:
    code = """
import os
print(open("in.csv").read(), open("sub/b.bin", "rb").read())
open("in.csv", "a").write("2")
os.makedirs("plots")
open("plots/p.png", "wb").write(b"png")
open("user:x", "wb").write(b"?")
os.symlink("/etc/hosts", "link.txt")
"""
    result = run(code, File("in.csv", "MQ==", "text/csv"), File("sub/b.bin", b"\0"))
    assert result.stdout == "1 b'\\x00'\n"
    assert result.output_files == [
        File("in.csv", b"12", "text/csv"),
        File("plots/p.png", b"png", "image/png"),
        File("user_x", b"?", "application/octet-stream"),
    ]


def test_output_files_are_bounded() -> None:
    code = """
for name in "abc":
    open(name, "w").write(name)
open("big", "w").write("x" * 20)
"""
    result = run(code, max_file_bytes=19)
    assert [file.name for file in result.output_files] == ["a", "b", "c"]
    assert result.stdout == "Files not kept: `big` (20 bytes, the limit is 19)"
    result = run(code, max_output_files=2)
    assert [file.name for file in result.output_files] == ["a", "b"]
    assert "`big` (the limit is 2 files), `c` (the limit is 2 files)" in result.stdout


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "", "c:x", "..\\x"])
def test_input_files_stay_inside(name: str) -> None:
    with pytest.raises(ValueError, match="relative path"):
        run("pass", File(name, b""))


def test_it_is_no_sandbox(tmp_path: Path) -> None:
    """Says what the name says: code reads what this user may read."""
    path = tmp_path / "f"
    path.write_text("readable")
    assert run(f"print(open({str(path)!r}).read())").stdout == "readable\n"


def test_state_is_refused() -> None:
    with pytest.raises(ValidationError, match="cannot be stateful"):
        UnsafeLocalCodeExecutor(stateful=True)
    with pytest.raises(ValidationError, match="frozen"):
        UnsafeLocalCodeExecutor().stateful = True


async def test_the_loop_goes_on_meanwhile() -> None:
    executor = UnsafeLocalCodeExecutor()
    work = asyncio.create_task(
        executor.execute_code_async(NO_CONTEXT, CodeExecutionInput("print(sum(range(10**6)))"))
    )
    turns = 0
    while not work.done():
        turns += 1
        await asyncio.wait([work], timeout=0.001)
    assert turns > 2
    assert (await work).stdout == "499999500000\n"


async def test_cancelling_kills_the_code(pipe: Path) -> None:
    code = f"""
writer = open({str(pipe)!r}, "wb", buffering=0)
writer.write(b"x")
while True: pass
"""
    executor = UnsafeLocalCodeExecutor(timeout_seconds=None)
    work = asyncio.create_task(executor.execute_code_async(NO_CONTEXT, CodeExecutionInput(code)))
    reader = await asyncio.wait_for(asyncio.to_thread(open, pipe, "rb", buffering=0), 60)
    with reader:
        assert await asyncio.wait_for(asyncio.to_thread(reader.read, 1), 60) == b"x"
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await asyncio.wait_for(asyncio.to_thread(reader.read), 60) == b""


async def test_cancelling_before_the_start_starts_nothing(tmp_path: Path) -> None:
    executor = UnsafeLocalCodeExecutor()
    target = tmp_path / "made"
    work = asyncio.create_task(
        executor.execute_code_async(NO_CONTEXT, CodeExecutionInput(f"open({str(target)!r}, 'w')"))
    )
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not target.exists()


def test_deep_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os\nopen('kept', 'w').close()\n"
    code += "for _ in range(1_500):\n  os.mkdir('d' * 20); os.chdir('d' * 20)\n"
    code += "open('deep', 'w').close(); os.chmod('.', 0o500)"
    result = run(code)
    assert [file.name for file in result.output_files] == ["kept"]
    assert "folders below" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_free_descriptors_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("subprocess.Popen", refuse)
    assert "could not be started: Too many open files" in run("1").stderr


def test_programs_for_adk_cannot_have_data_files_optimized() -> None:
    set_follows_adk(True)
    try:
        with pytest.raises(ValueError, match="optimize_data_file"):
            UnsafeLocalCodeExecutor(optimize_data_file=True)
    finally:
        set_follows_adk(False)
    assert UnsafeLocalCodeExecutor(optimize_data_file=True).optimize_data_file


def test_notes_on_many_files_are_few() -> None:
    given = run("for n in range(60): open(f'n{n}', 'w').close()", max_output_files=1)
    assert "and 39 more" in given.stdout and given.stdout.count("the limit is") == 20
