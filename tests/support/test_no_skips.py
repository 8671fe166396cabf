"""The guard against silent skips fails a run that skipped, and only with its switch on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PLUGIN = Path(__file__).with_name("no_skips.py")

CASES = {
    "skipped": "@pytest.mark.skip(reason='no server')\ndef test_a(): pass\n",
    "xfail": "@pytest.mark.xfail(reason='later')\ndef test_a(): assert False\n",
    "xpass": "@pytest.mark.xfail(reason='later')\ndef test_a(): pass\n",
    "module": "pytest.skip('no driver', allow_module_level=True)\n",
}


def run(folder: Path, body: str, switch: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(PLUGIN, folder / "guard.py")
    (folder / "test_it.py").write_text(f"import pytest\ndef test_ok(): pass\n{body}")
    environment = os.environ | {"OSTINATO_NO_SKIPS": switch, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment["PYTHONPATH"] = str(folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "guard", *arguments, str(folder)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_skipped_fails(case: str, tmp_path: Path) -> None:
    done = run(tmp_path, CASES[case], "1")
    assert done.returncode == 1, done.stdout
    assert "1 did not run" in done.stdout


def test_a_skip_in_a_worker_process_counts_too(tmp_path: Path) -> None:
    done = run(tmp_path, CASES["skipped"] + CASES["module"], "1", "-p", "xdist", "-n", "1")
    assert done.returncode == 1, done.stdout
    assert "did not run" in done.stdout


def test_a_skip_is_allowed_without_the_switch(tmp_path: Path) -> None:
    assert run(tmp_path, CASES["skipped"], "").returncode == 0


def test_a_clean_run_passes(tmp_path: Path) -> None:
    assert run(tmp_path, "", "1").returncode == 0
