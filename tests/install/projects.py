"""Creates each template in a clean environment, and runs what its README says.

    python -m tests.install.projects                 all templates, by uv and by pip
    python -m tests.install.projects --only agent    one template

A plain install has to answer its first question within 30 seconds of `pip install`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from ostinato.cli.create_options import TEMPLATES
from tests.install.run import Failed, environment
from tests.page.wheel import build

_FIRST_ANSWER_SECONDS = 30
_EXTRAS = {"service": "postgres,server", "mcp-server": "mcp,server"}
_QUESTIONS = {"multi-agent": "What is the status of order A-102?", "workflow": "lunch 12.50"}
_ANSWERS = {"multi-agent": "shipped on Monday", "workflow": "Booked 12.50"}
_CLEAN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
}


def run(what: str, command: list[str], folder: Path) -> str:
    """Run a command in a folder and return its output; print how long it took.

    Raises:
      Failed: it failed.
    """
    begun = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=_CLEAN, capture_output=True, text=True)
    print(f"{what}: {time.monotonic() - begun:.1f} s", flush=True)
    if done.returncode:
        raise Failed(f"{what} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def list_installs(installer: str, python: str, wanted: list[str]) -> list[str]:
    """Return the command that installs packages into an environment."""
    if installer == "uv":
        return [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, *wanted]
    return [python, "-m", "pip", "install", "-q", *wanted]


def answer_first(folder: Path, wheel: Path, installer: str) -> float:
    """Install the plain wheel, create an agent and ask it; return the seconds it took.

    Raises:
      Failed: it gave no answer, or took too long.
    """
    python = environment(folder / "env", sys.executable)
    begun = time.monotonic()
    run(f"{installer}: plain install", list_installs(installer, python, [str(wheel)]), folder)
    ostinato = [python, "-m", "ostinato"]
    run(f"{installer}: create", [*ostinato, "create", "my_agent"], folder)
    question = [*ostinato, "run", "my_agent", "What time is it in Tokyo?"]
    if "In Tokyo it is" not in run(f"{installer}: first answer", question, folder):
        raise Failed("the first agent did not answer")
    taken = time.monotonic() - begun
    if taken > _FIRST_ANSWER_SECONDS:
        raise Failed(f"{installer}: the first answer took {taken:.0f} s")
    return taken


def check_template(folder: Path, wheel: Path, installer: str, template: str) -> None:
    """Create a project, install it, and run its checks, the agent and the page.

    Raises:
      Failed: one of them failed.
    """
    what = f"{installer}, {template}"
    python = environment(folder / "env", sys.executable)
    wanted = f"{wheel}[{_EXTRAS.get(template, 'server')}]"
    run(f"{what}: install", list_installs(installer, python, [wanted]), folder)
    run(what, [python, "-m", "ostinato", "create", "desk", "--template", template], folder)
    project = folder / "desk"
    links = ["--find-links", str(wheel.parent), "-e", ".[dev]"]
    run(f"{what}: project", list_installs(installer, python, links), project)
    run(f"{what}: pytest", [python, "-m", "pytest", "-q"], project)
    run(f"{what}: ruff", [python, "-m", "ruff", "check", "."], project)
    run(f"{what}: format", [python, "-m", "ruff", "format", "--check", "."], project)
    run(f"{what}: pyright", [python, "-m", "pyright", "-p", ".", "--pythonpath", python], project)
    question = _QUESTIONS.get(template, "What time is it in Tokyo?")
    asked = [python, "-m", "ostinato", "run", "agents/desk", question]
    if _ANSWERS.get(template, "In Tokyo it is") not in run(f"{what}: run", asked, project):
        raise Failed(f"{what}: the agent did not answer")
    check_web(what, python, project)


def check_web(what: str, python: str, project: Path) -> None:
    """Start the server of the page, ask for its apps, and stop it.

    Raises:
      Failed: it does not list the agent.
    """
    command = [python, "-m", "ostinato", "web", "agents", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=project, env=_CLEAN, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    seen = ""
    try:
        assert server.stdout is not None
        for line in server.stdout:
            seen += line
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                with urllib.request.urlopen(f"{found[0]}/list-apps", timeout=30) as answer:
                    if b'"desk"' not in answer.read():
                        raise Failed(f"{what}: the page does not list the agent")
                print(f"{what}: web answers", flush=True)
                return
    finally:
        server.terminate()
        server.wait(60)
    raise Failed(f"{what}: web did not start:\n{seen}")


def main() -> int:
    """Run what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(TEMPLATES), help="one template")
    parser.add_argument("--by", choices=("uv", "pip"), help="one installer")
    options = parser.parse_args()
    templates = [options.only] if options.only else list(TEMPLATES)
    with tempfile.TemporaryDirectory() as place:
        try:
            wheel = build(Path(place))
            for installer in [options.by] if options.by else ["uv", "pip"]:
                first = Path(place, f"first-{installer}")
                first.mkdir()
                seconds = answer_first(first, wheel, installer)
                print(f"{installer}: from install to first answer {seconds:.1f} s", flush=True)
                for template in templates:
                    folder = Path(place, f"{installer}-{template}")
                    folder.mkdir()
                    check_template(folder, wheel, installer, template)
        except Failed as failure:
            print(failure, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
