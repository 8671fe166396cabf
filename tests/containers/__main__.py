"""Makes the attempts of the local sandbox in a real container, with checks of limits and clean-up:

    python -m tests.containers docker python:3.13-slim

It is a program and no test, because it needs docker or podman; no test run skips it.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ostinato.code_executors import ContainerCodeExecutor
from ostinato.code_executors.code_execution_utils import CodeExecutionInput, File
from ostinato.environment import ContainerEnvironment
from tests.support.escapes import GROUPS, write_attempts

# Attempts that succeed in a container and reach nothing outside: they see or use the container's
# own processes, loopback and memory.
HARMLESS = frozenset(
    {
        "read the list of users",
        "list processes in /proc",
        "read process 1's environment",
        "read through /proc/self/root",
        "read memory by process_vm_readv",
        "kill process 1",
        "send a datagram",
        "listen on a port",
        "ask for the networks by netlink",
        "map much memory",
        "keep data in nameless files of memory",
        "keep data in System V memory",
        "make many empty files",
        "open many files",
        "raise its own limits",
    }
)
# The limits that the attempts are made for.
LIMITS: dict[str, Any] = {
    "timeout_seconds": 120,
    "max_memory_bytes": 300_000_000,
    "max_processes": 24,
    "max_disk_bytes": 32_000_000,
    "max_file_bytes": 8_000_000,
}


def make_attempts(program: str, image: str) -> list[str]:
    """Return what went wrong, one line each."""
    wrong: list[str] = []
    executor = ContainerCodeExecutor(image=image, container_cli=program, **LIMITS)
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text("the secret")
        outside = {
            "outside": folder,
            "secret": secret,
            "victim": 2**22 - 1,
            "port": 9,
            "unix": "/run/docker.sock",
            "abstract": "none",
        }
        for group in GROUPS:
            wanted = CodeExecutionInput(write_attempts(group, outside))
            given = executor.execute_code(None, wanted)  # type: ignore[arg-type]
            if "all tried\n" not in given.stdout:
                wrong.append(f"the attempts from {group[0].name!r} did not end: {given}")
            escaped = {
                line.removeprefix("ESCAPED ")
                for line in given.stdout.splitlines()
                if line.startswith("ESCAPED ")
            }
            wrong += [f"escaped: {name}" for name in sorted(escaped - HARMLESS)]
    return wrong


def check_runs(program: str, image: str) -> list[str]:
    """Return which promise about files, limits and clean-up does not hold."""
    executor = ContainerCodeExecutor(
        image=image, container_cli=program, timeout_seconds=60, max_file_bytes=2**30
    )

    def run(code: str, *files: File) -> str:
        given = executor.execute_code(None, CodeExecutionInput(code, [*files]))  # type: ignore[arg-type]
        return f"{given.stdout}|{given.stderr}|{[one.name for one in given.output_files]}"

    checks = {
        "files": "hi|" in run("open('o','w'); print(open('i').read(), end='')", File("i", b"hi"))
        and "['o']" in run("open('o', 'w').write('x')"),
        "user": "65534 65534" in run("import os; print(os.getuid(), os.getgid())"),
        "memory": "SIGKILL" in (told := run("b = bytearray(2 * 1024**3)")) or "137" in told,
        "disk": "No space left" in run("open('o', 'wb').write(bytes(200 * 1024**2))"),
        "read-only": "Read-only" in run("open('/usr/x', 'w')"),
        "timeout": "longer than 60 s" in run("while True: pass"),
    }
    return [f"{name} does not hold" for name, holds in checks.items() if not holds]


async def check_environment(program: str, image: str) -> list[str]:
    """Return which promise of an environment does not hold."""
    place = ContainerEnvironment(image, container_cli=program, env_vars={"COLOUR": "blue"})
    await place.initialize()
    try:
        await place.write_file("a/b", b"text")
        late = await place.execute("sleep 600", timeout=1)
        told = await place.execute("cat a/b; echo $COLOUR; ps aux 2>/dev/null | grep -c '[s]leep'")
    finally:
        await place.close()
    wrong = [] if late.timed_out else ["a command has no time limit"]
    is_right = told.stdout.startswith("textblue\n") and not told.stdout.endswith("1\n")
    return wrong if is_right else [*wrong, f"an environment answers {told}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="docker, podman or a path")
    parser.add_argument("image", help="an image with python3")
    given = parser.parse_args()
    began = time.monotonic()
    wrong = make_attempts(given.program, given.image) + check_runs(given.program, given.image)
    wrong += asyncio.run(check_environment(given.program, given.image))
    left = subprocess.run(
        [given.program, "ps", "--all", "--quiet", "--filter", "label=ostinato.sandbox"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wrong += [f"containers are left: {left}"] if left else []
    print(*wrong, f"{len(wrong)} wrong, {time.monotonic() - began:.0f} s", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
