"""`Agent[Deps, Output]` under pyright: what a program's author is told, and what not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).with_name("typed_agents.py")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.service
def test_the_type_checker_knows_deps_and_output() -> None:
    command = [sys.executable, "-m", "pyright", "--outputjson", str(SAMPLE)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    reported = {1 + one["range"]["start"]["line"]: one["message"] for one in found}
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert sorted(reported) == wrong, reported
    assert len(wrong) == 4
