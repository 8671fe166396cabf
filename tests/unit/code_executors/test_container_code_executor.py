"""ContainerCodeExecutor on a program that stands for docker: what is asked of it, what comes back,
what it does when that fails, and which flags nobody can take away."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ostinato.code_executors import _local_code_executor
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from ostinato.code_executors.container_code_executor import (
    DEFAULT_IMAGE_TAG,
    ContainerCodeExecutor,
)
from ostinato.errors import AgentConfigError
from tests.support.fake_containers import FakeContainers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the program reads /proc")

IMAGE = "python:3.13-slim"


@pytest.fixture(name="fake")
def fixture_fake(tmp_path: Path) -> FakeContainers:
    return FakeContainers(tmp_path / "fake")


def make(fake: FakeContainers, **settings: Any) -> ContainerCodeExecutor:
    given = {"image": IMAGE, "container_cli": str(fake.program), "timeout_seconds": 20, **settings}
    return ContainerCodeExecutor(**given)


def run(
    fake: FakeContainers, code: str = "print(1)", *files: File, **settings: Any
) -> CodeExecutionResult:
    wanted = CodeExecutionInput(code=code, input_files=list(files))
    return make(fake, **settings).execute_code(None, wanted)  # type: ignore[arg-type]


def pairs(call: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(call))


def check_flags(call: list[str], image: str = IMAGE) -> None:
    """Fail if a protection is missing, or if anything but the image stands where it has to."""
    flags = call[: call.index("--entrypoint")]
    found = pairs(flags)
    assert {
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--pull", "never"),
        ("--log-driver", "none"),
        ("--ulimit", "core=0:0"),
        ("--label", "ostinato.sandbox=1"),
    } <= found
    assert {"--rm", "--interactive", "--read-only", "--no-healthcheck"} <= set(flags)
    values = dict(pairwise(flags))
    assert values["--user"].split(":")[0].isdecimal() and int(values["--user"].split(":")[0]) > 0
    assert int(values["--memory"]) == int(values["--memory-swap"]) > 0
    assert float(values["--cpus"]) > 0 and int(values["--pids-limit"]) > 0
    assert values["--tmpfs"].startswith("/tmp:rw,exec,nosuid,nodev,size=")
    never = ("--privileged", "--volume", "-v", "--mount", "--device", "--cap-add", "--env-file")
    assert not [flag for flag in flags if flag.partition("=")[0] in never]
    assert not {"host", "unconfined", "seccomp=unconfined"} & set(flags)
    assert call[call.index("--entrypoint") + 2] == image


def test_code_runs_with_files_that_come_in_and_go_out(fake: FakeContainers) -> None:
    given = run(
        fake,
        "import sys, pathlib\n"
        "pathlib.Path('d').mkdir(); pathlib.Path('d/out.txt').write_text('made')\n"
        "pathlib.Path('in/b.csv').write_text('changed')\n"
        "print(open('in/a.csv').read()); print('warned', file=sys.stderr)",
        File("in/a.csv", b"given", "text/csv"),
        File("in/b.csv", b"old", "text/csv"),
    )
    assert (given.stdout, given.stderr) == ("given\nwarned\n", "")
    assert [(one.name, one.content) for one in given.output_files] == [
        ("d/out.txt", b"made"),
        ("in/b.csv", b"changed"),
    ]
    (call,) = fake.called("run")
    check_flags(call)
    assert fake.running == [] and fake.called("rm") == []


@pytest.mark.long
def test_the_image_is_looked_up_and_leftovers_are_swept_once(fake: FakeContainers) -> None:
    executor = make(fake)
    assert fake.calls == []  # creating one asks nothing
    for _ in range(2):
        executor.execute_code(None, CodeExecutionInput("pass"))  # type: ignore[arg-type]
    assert [call[0] for call in fake.calls] == ["image", "ps", "run", "run"]
    assert len({tuple(call[: call.index("--label")]) for call in fake.called("run")}) == 2  # names


@pytest.mark.long
def test_a_container_of_a_dead_process_is_removed(fake: FakeContainers) -> None:
    run(fake)
    (call,) = fake.called("run")
    name = call[call.index("--name") + 1]
    machine = name.split("-")[1]
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = {
        f"ostinato-{machine}-{ended.pid}-1-abc": True,
        f"ostinato-{machine}-{os.getpid()}-1-abc": True,  # the id was given to us after it
        name: False,
        f"ostinato-{'0' * 12}-{ended.pid}-1-abc": False,  # of another machine
        "somebody-elses": False,
    }
    fake.answer("ps", "echo '" + "\n".join(names) + "'")
    run(fake)
    assert [call[-1] for call in fake.called("rm")] == [one for one, goes in names.items() if goes]


@pytest.mark.long
def test_a_timeout_removes_the_container(fake: FakeContainers) -> None:
    given = run(fake, "print('begun', flush=True)\nwhile True: pass", timeout_seconds=0.8)
    assert given.stderr == "Code execution was stopped: it ran longer than 0.8 s."
    assert fake.called("rm")[0][:3] == ["rm", "--force", "--volumes"] and fake.running == []


async def test_a_cancelled_run_removes_the_container(fake: FakeContainers) -> None:
    code = "open('begun', 'w').close()\nwhile True: pass"
    work = asyncio.ensure_future(
        make(fake).execute_code_async(None, CodeExecutionInput(code))  # type: ignore[arg-type]
    )
    while not [*fake.folder.glob("box/*/tmp/work/begun")]:
        assert not work.done()
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert fake.running == [] and len(fake.called("rm")) == 1


@pytest.mark.parametrize(
    "script",
    ["exec yes", pytest.param("yes >&2 & exec yes", marks=pytest.mark.long)],  # waits 2 s
)
def test_a_program_that_prints_without_end_is_ended(fake: FakeContainers, script: str) -> None:
    fake.answer("image", script)
    with pytest.raises(AgentConfigError, match=r"more than 1,048,576 bytes of output"):
        run(fake)


@pytest.mark.long
def test_a_build_may_print_much(fake: FakeContainers, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x")
    fake.answer("build", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 0")
    assert run(fake, docker_path=str(tmp_path)).stdout == "1\n"


async def test_a_cancelled_run_that_fails_logs_nothing(
    fake: FakeContainers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()  # what tests before this one left is logged now
    caplog.clear()
    monkeypatch.setattr(_local_code_executor, "_GRACE_SECONDS", 0)
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def fail(*_: Any) -> Any:
        begun.set()
        go_on.wait()
        ended.set()
        raise AgentConfigError("no daemon")

    executor = make(fake)
    monkeypatch.setattr(ContainerCodeExecutor, "_run_child", fail)
    context: Any = None
    work = asyncio.ensure_future(executor.execute_code_async(context, CodeExecutionInput("1")))
    await asyncio.to_thread(begun.wait)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    go_on.set()
    await asyncio.to_thread(ended.wait)
    await asyncio.get_running_loop().shutdown_default_executor()
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.records == []


@pytest.mark.long
def test_a_killed_process_of_ours_ends_its_container(fake: FakeContainers) -> None:
    """The container's first process ends with its input, which the kernel closes."""
    code = "import time\nopen('begun', 'w').close()\ntime.sleep(1)"
    program = (
        "from ostinato.code_executors import ContainerCodeExecutor as E\n"
        "from ostinato.code_executors.code_execution_utils import CodeExecutionInput as I\n"
        f"E(image='x', container_cli={str(fake.program)!r}).execute_code(None, I({code!r}))"
    )
    ours = subprocess.Popen([sys.executable, "-c", program])
    while not [*fake.folder.glob("box/*/tmp/work/begun")]:
        assert ours.poll() is None
    ours.kill()
    ours.wait()
    while fake.running:
        pass  # the fixture's time limit ends a test that waits for ever
    assert fake.called("rm") == []


@pytest.mark.long
def test_a_file_whose_name_is_no_text_is_named(fake: FakeContainers) -> None:
    result = run(fake, "for name in (b'a\\xff', b'a\\xfe', b'b'): open(name, 'w').close()")
    assert [file.name for file in result.output_files] == ["b"]
    assert result.stdout.count("its name is not printable") == 2


@pytest.mark.long
def test_what_fails_is_told(fake: FakeContainers) -> None:
    assert "ZeroDivisionError" in run(fake, "1/0").stderr
    assert "exit status 3" in run(fake, "raise SystemExit(3)").stderr
    assert "SIGKILL" in run(fake, "import os; os.kill(os.getpid(), 9)").stderr
    fake.answer("run", "exit 137")
    assert "exit status 137" in run(fake).stderr and "max_memory_bytes" in run(fake).stderr
    fake.fail("run", "Traceback: OSError: No space left on device")
    assert run(fake).stderr.endswith("(exit status 1): Traceback: OSError: No space left on device")


@pytest.mark.long
def test_output_and_files_have_limits(fake: FakeContainers) -> None:
    code = (
        "print('x' * 5000, 'end')\nfor n in range(40): open(f'{n:02}', 'w')\nopen('big', 'w').write"
    )
    given = run(fake, code + "('y' * 99)", max_output_bytes=1000, max_output_files=2)
    assert "bytes left out" in given.stdout and given.stdout.count("limit is 2 files") >= 20
    assert [one.name for one in given.output_files] == ["00", "01"]
    given = run(fake, "open('big', 'wb').write(b'y' * 99)", max_file_bytes=10)
    assert "`big` (11 bytes, the limit is 10)" in given.stdout and given.output_files == []
    code = "for n in range(8): open(f'{n}', 'wb').truncate(1_000_000)"
    given = run(fake, code, max_disk_bytes=3_500_000)
    assert [one.name for one in given.output_files] == ["0", "1", "2"]
    assert "not kept: all may have 3500000 bytes together" in given.stdout
    flood = run(fake, "while True: print('x' * 9999)", max_output_bytes=1000)
    assert flood.stderr == "Code execution was stopped: it printed more than 64000 bytes."
    assert fake.running == []


FORGED = {
    "a frame of no kind": b"zzzzzzzz",
    "a frame that is too long": b"o\xff\xff\xff\xff",
    "a file outside": b"f\x00\x00\x00\x0c../../evil\0x",
    "an absolute file": b"f\x00\x00\x00\x0d/tmp/evil-o\0x",
    "a file without a name": b"f\x00\x00\x00\x02\0x",
}


@pytest.mark.long
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_answer_ends_the_container(
    fake: FakeContainers, tmp_path: Path, name: str
) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in FORGED[name])
    fake.answer("run", f"printf '{octal}'; exec cat >/dev/null")
    given = run(fake)
    assert given.stderr.startswith("Code execution was stopped: it sent"), name
    assert given.output_files == [] and not [*tmp_path.rglob("evil*")]


def test_the_exit_status_cannot_be_forged_into_anything_else(fake: FakeContainers) -> None:
    fake.answer("run", "printf 'x\\000\\000\\000\\005 9 \\n '; exit 0")
    assert run(fake).stderr == "The code ended with exit status 1."


@pytest.mark.parametrize(
    ("command", "said", "status", "told"),
    [
        (
            "image",
            "Cannot connect to the Docker daemon at unix:///x. Is it running?",
            1,
            "Start it",
        ),
        (
            "image",
            "permission denied while trying to connect to the Docker daemon socket",
            1,
            "group",
        ),
        ("pull", "Error: manifest unknown", 1, "cannot be pulled: the image is not there. Check"),
        ("run", "unknown or invalid runtime name: runsc", 125, "leave `runtime` out"),
        ("run", "unknown flag: --pull", 125, "Update it"),
        ("run", "something else", 125, "something else"),
        ("run", "exec: python3: not found", 127, "no python3"),
        ("run", "crun: setrlimit: Operation not permitted", 126, "cannot be started"),
    ],
)
def test_a_developers_fault_is_raised_with_the_remedy(
    fake: FakeContainers, command: str, said: str, status: int, told: str
) -> None:
    if command == "pull":
        fake.fail("image", "Error: No such image: x")
    fake.fail(command, said, status)
    with pytest.raises(AgentConfigError, match=told) as caught:
        run(fake)
    assert "docker" in str(caught.value) and IMAGE in str(caught.value)


@pytest.mark.long
def test_a_missing_image_is_pulled_unless_that_is_off(fake: FakeContainers) -> None:
    fake.fail("image", "Error response from daemon: No such image: x")
    assert run(fake).stdout == "1\n"
    assert fake.called("pull") == [["pull", "--quiet", IMAGE]]
    with pytest.raises(AgentConfigError, match=f"Run `docker pull {IMAGE}`"):
        run(fake, pull_image=False)
    assert len(fake.called("pull")) == 1


@pytest.mark.long
def test_an_image_is_built_from_a_folder(fake: FakeContainers, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    with pytest.raises(AgentConfigError, match="has no Dockerfile"):
        run(fake, image=None, docker_path=str(tmp_path / "app"))
    (tmp_path / "app" / "Dockerfile").write_text("FROM python:3.13-slim\n")
    assert run(fake, image=None, docker_path=str(tmp_path / "app")).stdout == "1\n"
    assert fake.called("build") == [["build", "--tag", DEFAULT_IMAGE_TAG, str(tmp_path / "app")]]
    check_flags(fake.called("run")[0], DEFAULT_IMAGE_TAG)
    with pytest.raises(FileNotFoundError, match="Invalid Docker path"):
        run(fake, docker_path=str(tmp_path / "none"))
    fake.fail("build", "failed to solve: process did not complete")
    with pytest.raises(AgentConfigError, match=r"cannot be built from .*failed to solve"):
        run(fake, docker_path=str(tmp_path / "app"))


@pytest.mark.long
def test_the_first_program_that_is_installed_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeContainers(tmp_path / "fake", "podman")
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setattr("ostinato.processes.container.container_cli._PROGRAMS", ("none", "podman"))
    assert run(fake, container_cli=None, base_url="unix:///run/podman.sock").stdout == "1\n"
    (call,) = fake.called("run")
    assert call[:3] == ["--url", "unix:///run/podman.sock", "run"]
    assert "--read-only-tmpfs=false" in call and ("--image-volume", "ignore") in pairs(call)
    check_flags(call)


def test_without_a_program_the_error_says_what_to_install(
    fake: FakeContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AgentConfigError, match=r"no program 'nerdctl' .* Install docker or podman"):
        run(fake, container_cli="nerdctl")
    monkeypatch.setenv("PATH", str(fake.folder / "calls"))
    with pytest.raises(AgentConfigError, match="neither docker nor podman"):
        run(fake, container_cli=None)


def test_as_in_google_adk_it_needs_an_image_and_keeps_no_state() -> None:
    with pytest.raises(ValueError, match="Either image or docker_path must be set"):
        ContainerCodeExecutor()
    with pytest.raises(ValueError, match="stateful"):
        ContainerCodeExecutor(image=IMAGE, stateful=True)
    given = ContainerCodeExecutor("unix:///x", IMAGE, ".")
    assert (given.base_url, given.image) == ("unix:///x", IMAGE)
    assert given.docker_path == os.path.abspath(".")


Attempt = Callable[[FakeContainers], Any]

# Attempts that a setting makes, by the words of docs/sandboxes.md; each is refused before a call.
REFUSED: dict[str, Attempt] = {
    "an image called like a flag": lambda fake: run(fake, image="--privileged"),
    "an image called like a mount": lambda fake: run(fake, image="-v/:/host"),
    "an image with a flag behind a blank": lambda fake: run(fake, image="x --privileged"),
    "an image with a line break": lambda fake: run(fake, image="x\n--privileged"),
    "an image with a shell's command": lambda fake: run(fake, image="x;id"),
    "root as the user": lambda fake: run(fake, user="0:0"),
    "root's group": lambda fake: run(fake, user="1000:0"),
    "a user by name": lambda fake: run(fake, user="root"),
    "a user called like a flag": lambda fake: run(fake, user="--privileged"),
    "a runtime called like a flag": lambda fake: run(fake, runtime="--privileged"),
    "a runtime that is a path": lambda fake: run(fake, runtime="../evil"),
    "a daemon's address called like a flag": lambda fake: run(fake, base_url="--config=/evil"),
    "a daemon's address of another kind": lambda fake: run(fake, base_url="file:///etc/passwd"),
    "no limit of memory": lambda fake: run(fake, max_memory_bytes=None),
    "no limit of processes": lambda fake: run(fake, max_processes=0),
    "no limit of processors": lambda fake: run(fake, max_cpus=0),
    "no limit of disk": lambda fake: run(fake, max_disk_bytes=0),
    "an input file outside": lambda fake: run(fake, "pass", File("../../evil", b"x")),
    "an input file with an absolute path": lambda fake: run(fake, "pass", File("/etc/x", b"x")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_attempt_on_the_command_line_is_refused(fake: FakeContainers, name: str) -> None:
    with pytest.raises(ValueError):
        REFUSED[name](fake)
    assert fake.called("run") == []


# Attempts that reach the command line, and change nothing of it.
HARMLESS = {
    "code that is a flag": ("--privileged", []),
    "code that ends the shell's word": ("'\"; touch evil #", []),
    "a file called like a flag": ("print(1)", [File("--privileged", b"x")]),
    "a file called like a shell's command": ("print(1)", [File("$(touch evil)", b"x")]),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_an_attempt_through_code_and_files_changes_no_flag(
    fake: FakeContainers, tmp_path: Path, name: str
) -> None:
    code, files = HARMLESS[name]
    run(fake, code, *files)
    (call,) = fake.called("run")
    check_flags(call)
    assert code not in call and not [*tmp_path.rglob("evil")]


def test_the_code_has_a_filter_of_system_calls_of_its_own(fake: FakeContainers) -> None:
    given = run(
        fake,
        "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
        "print(c.unshare(0x10000000), ctypes.get_errno(), c.prctl(39, 0, 0, 0, 0))\n"
        "import subprocess, threading; threading.Thread(target=print, args=['ran']).start()\n"
        "subprocess.run(['true'], check=True)",
    )
    assert (given.stdout, given.stderr) == ("-1 1 1\nran\n", "")


def test_secrets_of_this_process_reach_neither_program_nor_container(
    fake: FakeContainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"OPENAI_API_KEY": "key-1", "AWS_SECRET_ACCESS_KEY": "key-2", "PGPASSWORD": "key-3"}
    proxies = {"HTTPS_PROXY": "http://user:key-4@proxy", "http_proxy": "http://user:key-5@proxy"}
    for key, value in (secrets | proxies).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    given = run(fake, "import os, json; print(json.dumps(dict(os.environ)))")
    reached = fake.environment("run")
    assert "key-" not in json.dumps([reached, fake.calls]) + given.stdout
    assert reached["DOCKER_HOST"] == "unix:///run/docker.sock"
    (call,) = fake.called("run")
    assert {"--env=https_proxy=", "--env=HTTPS_PROXY=", "--env=ALL_PROXY="} <= set(call)
    fake.fail("image", "No such image")
    run(fake)
    assert fake.environment("pull")["HTTPS_PROXY"] == proxies["HTTPS_PROXY"]
    assert "OPENAI_API_KEY" not in fake.environment("pull")


def test_the_network_is_there_only_if_it_is_asked_for(fake: FakeContainers) -> None:
    run(fake, allow_network=True, runtime="runsc", user="1000:1000")
    (call,) = fake.called("run")
    assert {("--network", "bridge"), ("--runtime", "runsc"), ("--user", "1000:1000")} <= pairs(call)


def test_the_page_lists_every_attempt() -> None:
    page = Path(__file__).parents[3] / "docs" / "sandboxes.md"
    told = page.read_text(encoding="utf-8")
    names = [*REFUSED, *HARMLESS, *FORGED]
    assert len(names) >= 25 and [name for name in names if f"| {name} |" not in told] == []
