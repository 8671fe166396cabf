"""The table of the core in docs/architecture.md names files that exist, with their sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| \[([\w/]+\.py)\]\(\.\./src/ostinato/\1\) \| (\d+) \|", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))


def test_the_core_is_listed() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize(("name", "told"), ROWS, ids=[name for name, _ in ROWS])
def test_the_size_of_a_file_is_about_what_the_table_says(name: str, told: str) -> None:
    lines = len((ROOT / "src" / "ostinato" / name).read_text(encoding="utf-8").splitlines())
    assert 0.8 * lines <= int(told) <= 1.25 * lines
