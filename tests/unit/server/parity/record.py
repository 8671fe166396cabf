"""Record what google-adk's own server answers: run it with the interpreter of its environment.

    .venvs/adk/bin/python tests/unit/server/parity/record.py

It starts `adk api_server` over `tests/unit/server/agents` and writes `answers.json` beside itself.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from steps import STEPS, Labels, body_of  # noqa: E402


def ask(base: str, method: str, path: str, body: Any) -> tuple[int, str, str]:
    """Send one request; return status, content type and body."""
    data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = {} if data is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(base + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers.get("content-type") or "", answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("content-type") or "", error.read().decode()


@contextmanager
def serving(agents: Path) -> Iterator[str]:
    """Run google-adk's server over a folder of agents; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    command = [str(Path(sys.executable).parent / "adk"), "api_server", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*command, "--no_use_local_storage", str(agents)],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(300):
                try:
                    ask(base, "GET", "/health", None)
                    break
                except OSError:
                    time.sleep(0.1)
            yield base
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:  # it waits for live runs that nobody ends
                process.kill()
                process.wait()


def main() -> None:
    """Start the server, ask, write."""
    with serving(HERE.parent / "agents") as base:
        labels = Labels()
        answers = {}
        for name, method, path, body in STEPS:
            status, kind, text = ask(base, method, path, body)
            answers[name] = {
                "status": status,
                "type": kind.partition(";")[0],
                "body": body_of(kind, text, labels),
            }
    found = {"google-adk": importlib.metadata.version("google-adk"), "answers": answers}
    (HERE / "answers.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
