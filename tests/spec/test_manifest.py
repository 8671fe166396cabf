"""The manifest and the tests agree in both directions: each bound row exists and is listed as
covered, each row listed as covered has a test."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.spec import plugin
from tests.spec.bindings import read_bindings
from tests.spec.report import bound_tests, in_order, listed_as_covered
from tests.spec.rows import PARTS, ROWS, SECTIONS

SOURCE = """
import pytest
pytestmark = pytest.mark.spec(1)

@pytest.mark.spec(13, "218a")
def test_a(): pass

@pytest.mark.spec(20)
class TestB:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec(21))])
    async def test_c(self, x): pass

def helper(): pass
"""


def test_rows_are_whole() -> None:
    numbers = {int(n) for n in ROWS if n.isdigit()}
    assert numbers == set(range(1, 221))
    assert set(ROWS) - {str(n) for n in numbers} == {"218a"}
    for row in ROWS.values():
        assert row.section in SECTIONS and row.part in PARTS and row.sentence


def test_marks_name_rows_that_exist() -> None:
    unknown = {row: bound for row, bound in bound_tests().items() if row not in ROWS}
    assert not unknown


def test_covered_rows_and_tests_agree() -> None:
    bound, listed = set(bound_tests()), listed_as_covered()
    assert not in_order(listed - bound), "listed in covered.txt, but no test is bound to them"
    assert not in_order(bound - listed), (
        "tests are bound to them, but covered.txt does not list them; "
        "run make spec SPEC_ARGS=--accept"
    )


def test_marks_are_read_from_source(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(SOURCE)
    assert {b.test: b.rows for b in read_bindings(path)} == {
        "test_a": ("1", "13", "218a"),
        "TestB::test_c": ("1", "20", "21"),
    }


def item(path: Path, *rows: object) -> pytest.Item:
    marks = [SimpleNamespace(args=rows)]
    double = SimpleNamespace(nodeid=path.name, path=path, iter_markers=lambda name: marks)
    return double  # type: ignore[return-value]


def test_collection_refuses_a_row_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(pytest.UsageError, match="no row 999"):
        plugin.pytest_collection_modifyitems([item(tmp_path / "test_x.py", 1, 999)])


def test_collection_refuses_a_mark_that_source_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(plugin, "TESTS", tmp_path)
    plugin.pytest_collection_modifyitems([item(path, 1, 13)])
    with pytest.raises(pytest.UsageError, match="row 99 is not written as a literal"):
        plugin.pytest_collection_modifyitems([item(path, 1, 99)])
