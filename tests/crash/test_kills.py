"""Deaths in every scenario's middle, over each store: nothing is lost, nothing is done twice.

`make crash` goes through all fail points and 10,000 deaths.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.program import Ways
from tests.crash.scenarios import SCENARIOS
from tests.crash.stores import STORES
from tests.crash.trial import Trial
from tests.support.databases import server_url

ROOT = Path(__file__).resolve().parents[2]
KILLS = {"sqlite": 200, "postgres": 40, "mariadb": 40}


@pytest.mark.service
@pytest.mark.parametrize("store", STORES)
def test_killed_programs_lose_nothing_and_do_nothing_twice(tmp_path: Path, store: str) -> None:
    figures_path, kills = tmp_path / "figures.json", KILLS[store]
    if store != "sqlite":
        server_url(store)  # it skips where there is none
    command = ["-m", "tests.crash.run", "--store", store, "--kills", str(kills)]
    command += ["--json", str(figures_path)]
    # In a process of its own: only one without threads may be forked.
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(figures_path.read_text())
    assert figures["failures"] == []
    assert figures["scenarios"] == len(SCENARIOS)
    assert figures["kills"] == figures["resumes"] >= kills
    assert figures["effects"] > kills and figures["events"] > kills
    assert figures["repeats"] <= figures["kills"]


@pytest.mark.service
def test_a_process_that_was_taken_over_adds_no_event_and_starts_no_effect() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.zombies", "--zombies", "20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["zombies"] == 20 and figures["failures"] == []


@pytest.mark.parametrize(
    "trial", [Trial("single", (12, 3), Ways(True, True)), Trial("loop", (0.01,), Ways(False))]
)
def test_a_trial_is_named_by_text(trial: Trial) -> None:
    assert Trial.of(str(trial)) == trial
