"""The examples of docs/skills.md run, and print what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.page_runner import PageRun

PAGE = Path(__file__).resolve().parents[2] / "docs" / "skills.md"


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = PageRun(tmp_path)
    run.run(PAGE)
    assert not run.problems, "\n\n".join(run.problems)
