"""The page "From ADK" tells every deviation the tests allow and every part that is absent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostinato._absences import ABSENCES
from tests.golden.deviations import DEVIATIONS
from tests.surface.absences import DIFFERENCES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-adk.md"


def plain(text: str) -> str:
    """Text without code quotes and line breaks, so that only its words count."""
    return re.sub(r"\s+", " ", text.replace("`", ""))


@pytest.fixture(scope="module")
def page() -> str:
    return plain(PAGE.read_text(encoding="utf-8"))


def test_every_deviation_of_the_golden_traces_is_told(page: str) -> None:
    reasons = {deviation.reason for deviation in DEVIATIONS}
    assert len(reasons) > 5
    assert not [reason for reason in sorted(reasons) if plain(reason) not in page]


def test_every_other_way_of_the_surface_is_told(page: str) -> None:
    reasons = {difference.reason for difference in DIFFERENCES}
    assert reasons
    assert not [reason for reason in sorted(reasons) if plain(reason) not in page]


def test_every_part_that_is_absent_is_told_with_what_to_use(page: str) -> None:
    rows = {f"| {absence.part} | {absence.reason} {absence.instead} |" for absence in ABSENCES}
    assert not [row for row in sorted(rows) if plain(row) not in page]
