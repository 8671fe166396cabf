"""The steps of the afternoon on our page and on google-adk's own, `adk web`, with the same agents:
clicks and seconds of each, as a table.

    python -m tests.page.beside_adk --python PATH

PATH is the interpreter of an environment with `google-adk[eval]==2.3.0`. It is not a test, and
no part of `make check`: seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.page import browser

_HERE = Path(__file__).parent
_SAME = ("gallery", "vault", "wreck")  # written for both; the till is written twice
_NAMES = (
    ("from ostinato import types", "from google.genai import types"),
    ("from ostinato.testing import", "from scripted import"),
    ("from ostinato.", "from google.adk."),
    (', tool_errors="feedback"', ""),
)


def write_agents(folder: Path) -> None:
    """Write the agents for google-adk."""
    shutil.copytree(_HERE / "adk_agents", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _SAME:
        text = (_HERE / "agents" / name / "agent.py").read_text()
        for ours, theirs in _NAMES:
            text = text.replace(ours, theirs)
        (folder / name).mkdir()
        (folder / name / "agent.py").write_text(text)
    for name in (*_SAME, "till"):
        (folder / name / "__init__.py").write_text("from . import agent\n")


def find_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(command: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a server and return its process."""
    with log.open("wb") as out:
        return subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)


def measure(python: str) -> list[dict[str, Any]]:
    """Take the steps once on both pages; return what each took."""
    with tempfile.TemporaryDirectory(prefix="ostinato-beside-") as name:
        folder = Path(name)
        write_agents(folder / "theirs")
        shutil.copytree(_HERE / "agents", folder / "ours")
        ports = find_port(), find_port()
        db = str(folder / "sessions.db")
        ours = [sys.executable, "-m", "ostinato", "web", str(folder / "ours"), "--db", db]
        theirs = [python, "-m", "google.adk.cli", "web", str(folder / "theirs")]
        servers = [
            start([*command, "--port", str(port)], folder, folder / f"{port}.log")
            for command, port in zip((ours, theirs), ports, strict=True)
        ]
        try:
            found = subprocess.run(
                ["node", str(_HERE / "beside_adk.mjs"), *map(str, ports)],
                env={**os.environ, "OSTINATO_TEST_CHROMIUM": browser.chromium()},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        except subprocess.CalledProcessError:
            for port in ports:
                print((folder / f"{port}.log").read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            for one in servers:
                one.terminate()
                one.wait()
    return json.loads(found.stdout)


def write_table(runs: list[list[dict[str, Any]]]) -> str:
    """Return the table: clicks, and the median of the seconds of all runs."""

    def cells(step: int, side: str) -> str:
        all_runs = [run[step][side] for run in runs]
        if all_runs[0] is None:
            return "not possible | "
        seconds = statistics.median(one["seconds"] for one in all_runs)
        return f"{all_runs[0]['clicks']} | {seconds:.1f}"

    lines = ["| step | clicks | seconds | clicks there | seconds there |", "|---|--:|--:|--:|--:|"]
    for number, one in enumerate(runs[0]):
        lines.append(
            f"| {number + 1}. {one['name']} | {cells(number, 'ours')} | {cells(number, 'theirs')} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True, help="interpreter with google-adk[eval]")
    parser.add_argument("--times", type=int, default=3, help="runs, of which the median counts")
    args = parser.parse_args()
    browser.modules()
    print(write_table([measure(args.python) for _ in range(args.times)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
