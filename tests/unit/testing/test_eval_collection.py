"""Pytest collects eval sets in projects that switch it on, and leaves others alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AGENT = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

root_agent = Agent(name="shop", model=FunctionModel(lambda request: "hello"))
"""
SET = """{"eval_set_id": "s", "eval_cases": [
  {"eval_id": "good", "conversation": [{"user_content": {"parts": [{"text": "q"}]},
    "final_response": {"parts": [{"text": "hello"}]}}]},
  {"eval_id": "bad", "conversation": [{"user_content": {"parts": [{"text": "q"}]},
    "final_response": {"parts": [{"text": "goodbye"}]}}]}]}
"""


def run_pytest(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop" / "tests"
    folder.mkdir(parents=True)
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "agent.py").write_text(AGENT)
    (folder / "one.evalset.json").write_text(SET)
    (tmp_path / "pytest.ini").write_text("[pytest]\nostinato_eval = true\n")
    return tmp_path


@pytest.mark.long
def test_each_case_is_an_item(project: Path) -> None:
    found = run_pytest(project)
    assert "1 failed, 1 passed" in found
    assert "bad: response_match_score: expected at least 0.8, got 0" in found
    assert "expected answer: goodbye" in found and "Traceback" not in found


@pytest.mark.long
def test_a_project_without_the_setting_is_left_alone(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "other.test.json").write_text("not for us")
    assert "no tests ran" in run_pytest(project)


@pytest.mark.long
def test_a_set_without_an_agent_says_what_to_do(project: Path) -> None:
    (project / "shop" / "agent.py").unlink()
    found = run_pytest(project)
    assert "No agent was found for one.evalset.json" in found
    (project / "shop" / "tests" / "test_config.json").write_text(
        '{"criteria": {"response_match_score": 1}, "agent": "../../other"}'
    )
    other = project / "other"
    other.mkdir()
    (other / "agent.py").write_text(AGENT)
    assert "1 failed, 1 passed" in run_pytest(project)
