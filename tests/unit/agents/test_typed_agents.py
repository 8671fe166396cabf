"""`Agent[Deps, Output]` under pyright: what a program's author is told, and what not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).with_name("typed_agents.py")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.service
def test_the_type_checker_knows_deps_and_output(tmp_path: Path) -> None:
    settings = {
        "extraPaths": [str(ROOT / "src")],
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    shutil.copy(SAMPLE, tmp_path)
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    reported = {1 + one["range"]["start"]["line"]: one["message"] for one in found}
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert sorted(reported) == wrong, reported
    assert len(wrong) == 4
