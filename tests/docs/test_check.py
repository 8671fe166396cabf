"""The documents' check finds a dead link, a missing heading, a missing path and a missing name."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import check


def test_dead_links_and_headings_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    text = "# A `b`, c\n[x](gone.md) [y](#a-b-c) [z](#other) [w](https://example.org) [v](a.md)\n"
    page.write_text(text)
    assert check.broken_links(page, text) == [
        "the link gone.md leads nowhere",
        "the link #other names no heading of a.md",
    ]


def test_missing_code_is_found() -> None:
    text = "`docs/check.py` `docs/gone.py` `ostinato.types` `ostinato.no_such_thing` `make docs`"
    assert check.missing_code(text) == [
        "the path `docs/gone.py` does not exist",
        "the name `ostinato.no_such_thing` does not exist",
    ]


def test_fenced_blocks_are_left_alone() -> None:
    assert check.missing_code("```\n`docs/gone.py`\n```\n") == []


def test_the_exit_code_says_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("[x](gone.md)\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert check.main() == 1
    (tmp_path / "README.md").write_text("nothing\n")
    assert check.main() == 0


def test_links_to_pages_that_the_site_makes_are_known() -> None:
    page = check.ROOT / "docs" / "page.md"
    text = "[a](reference/agents.md) [b](reference/gone.md) [c](reference/command-line.md)"
    assert check.broken_links(page, text) == ["the link reference/gone.md leads nowhere"]


def test_a_table_tells_the_length_of_files_within_a_tenth(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("pass\n" * 100)
    page = tmp_path / "page.md"
    assert check.stale_lengths(page, "| [a.py](a.py) | 109 | it |") == []
    assert check.stale_lengths(page, "| [a.py](a.py) | 111 | it |") == [
        "a.py has 100 lines, not 111"
    ]
