"""Which cases of a test `make test` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.quick_cases import MAX_CASES, choose_spread

ROOT = Path(__file__).resolve().parents[2]


def test_cases_are_spread_from_the_first_to_the_last() -> None:
    assert choose_spread(range(10), 3) == [0, 4, 9]
    assert choose_spread(range(4), 3) == [0, 1, 3]
    assert choose_spread(range(384), 3) == [0, 191, 383]


def test_few_cases_are_all_chosen() -> None:
    assert choose_spread(range(3), 3) == [0, 1, 2]
    assert choose_spread("a", 3) == ["a"]


@pytest.mark.long
def test_every_test_keeps_cases_and_none_too_many(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  long: slow\n")
    file = tmp_path / "test_it.py"
    file.write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', range(20))\ndef test_many(n): pass\n"
        "@pytest.mark.parametrize('n', range(20))\n"
        "class TestTwo:\n    def test_many(self, n): pass\n"
        "def test_one(): pass\n"
        "@pytest.mark.parametrize('n', range(3))\ndef test_few(n): pass\n"
    )
    quick = _collect(file, "-m", "not long")
    assert len([name for name in quick if "::test_many[" in name]) == 2 * MAX_CASES
    assert len([name for name in quick if "::test_few[" in name]) == 3
    assert len([name for name in quick if name.endswith("::test_one")]) == 1
    assert len(_collect(file)) == 20 + 20 + 1 + 3


def _collect(file: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += [
        "-p",
        "tests.support.quick_cases",
        f"--rootdir={file.parent}",
        *arguments,
        str(file),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]
