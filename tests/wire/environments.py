"""Environments for wire tests of SDK versions that cannot be installed beside those of .venv.

    python tests/wire/environments.py            make all under .venvs and run their tests
    python tests/wire/environments.py genai2 -x  only that one, with arguments for pytest

`make wire` calls it, and `make check` calls that. To have one, add it to ENVIRONMENTS.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venvs"
# What every environment's tests need beside this package; the versions are constraints.txt's.
RUNS_TESTS = ("certifi", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist")
_STRICT = {**os.environ, "OSTINATO_NO_SKIPS": "1"}
_LENIENT = (
    *("-W", "ignore::ResourceWarning"),
    *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
)


@dataclass(frozen=True)
class Environment:
    """One environment.

    Attributes:
      requirements: what is installed; constraints.txt does not decide on what is named here.
      folders: of tests/wire, whose tests run there; none for a program that is no test.
      only: whether they can run nowhere else; the run in .venv then leaves them out.
      extras: of this package, such as `[server]`.
      careless: whether what is installed leaves sockets open, which is no fault of ours.
    """

    requirements: tuple[str, ...]
    folders: tuple[str, ...]
    only: bool = False
    extras: str = ""
    careless: bool = False


ENVIRONMENTS = {
    "genai2": Environment(("google-genai==2.34.0",), ("gemini",), extras="[server]"),
    "adk-a2a": Environment(
        (
            "google-adk[a2a]==2.13.0",
            "google-genai==2.34.0",
            "opentelemetry-api==1.44.0",
            "opentelemetry-sdk==1.44.0",
            "opentelemetry-semantic-conventions==0.65b0",
            "websockets==15.0.1",
        ),
        ("a2a",),
        only=True,
        careless=True,
    ),
    "fuzz": Environment(("schemathesis==4.32.5",), (), extras="[a2a,mcp,server]"),
    # The major before that of .venv: both must send what we send.
    "openai2": Environment(("openai==2.54.0",), ("sdk_openai",)),
    "litellm": Environment(
        ("litellm==1.106.2", "openai==2.54.0", "boto3==1.44.5", "python-dateutil", "mcp"),
        ("litellm",),
        only=True,
    ),
    "bedrock": Environment(
        ("boto3==1.44.5", "botocore==1.44.5", "python-dateutil"),
        ("bedrock_sdk",),
        only=True,
    ),
    # .venvs/langgraph is the one of the benchmark.
    "langgraph-agent": Environment(
        ("langgraph==1.2.22", "langchain-core==1.7.2"), ("langgraph",), only=True, careless=True
    ),
}


def elsewhere() -> list[str]:
    """Return the folders whose tests belong to an environment that is not the running one."""
    here = Path(sys.prefix)
    return [
        folder
        for name, environment in ENVIRONMENTS.items()
        if environment.only and here != PLACE / name
        for folder in environment.folders
    ]


def set_up(name: str) -> Path:
    """Install an environment, unless it is there already; return its interpreter."""
    folder, environment = PLACE / name, ENVIRONMENTS[name]
    python = folder / "bin" / "python"
    constraints = _constraints(environment)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = hashlib.sha256(repr((environment, constraints, project)).encode()).hexdigest()
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"{name}: installing {', '.join(environment.requirements)} ...", flush=True)
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    limits = folder / "constraints.txt"
    limits.write_text("\n".join(constraints), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    what = [*environment.requirements, *RUNS_TESTS, "-e", f"{ROOT}{environment.extras}"]
    subprocess.run([*pip, "install", "-q", "-c", str(limits), *what], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _constraints(environment: Environment) -> list[str]:
    """Return the lines of constraints.txt that hold in an environment."""
    named = {_name(requirement) for requirement in environment.requirements}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "==" in line and _name(line) not in named]


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


def run(name: str, arguments: list[str]) -> int:
    """Run an environment's tests, their output as it comes; return pytest's exit status."""
    python = set_up(name)
    print(_describe_tests(name), flush=True)
    return subprocess.run(_command(name, python, arguments), cwd=ROOT, env=_STRICT).returncode


def run_all(names: list[str], arguments: list[str]) -> int:
    """Run the tests of environments side by side, one for each processor.

    The output of each is printed when it ends. Returns the highest of pytest's exit statuses.
    """

    def run_one(name: str) -> int:
        command = _command(name, set_up(name), arguments)
        done = subprocess.run(
            command, cwd=ROOT, env=_STRICT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        print(_describe_tests(name), done.stdout.decode(errors="replace"), sep="\n", flush=True)
        return done.returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(run_one, names))


def _folders(name: str) -> list[str]:
    return [f"tests/wire/{folder}" for folder in ENVIRONMENTS[name].folders]


def _describe_tests(name: str) -> str:
    return f"{name}: {' '.join(_folders(name))}"


def _command(name: str, python: Path, arguments: list[str]) -> list[str]:
    lenient = _LENIENT if ENVIRONMENTS[name].careless else ()
    return [str(python), "-m", "pytest", "-q", *lenient, *_folders(name), *arguments]


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(run(sys.argv[1], sys.argv[2:]))
    sys.exit(run_all([name for name, one in ENVIRONMENTS.items() if one.folders], []))
