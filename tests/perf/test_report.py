"""The benchmark's report: figures become tables, verdicts and pictures, without a hand between."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the harness, which is a folder of scripts."""
    monkeypatch.syspath_prepend(str(BENCH))
    import plot
    import report
    import table

    return type("Modules", (), {"plot": plot, "report": report, "table": table})


def peers(**ours: Any) -> dict[str, Any]:
    info = {"info": {"version": "1"}}
    return {
        "adk": {**info, "s2": {"cpu_us": 4500.0}, "s8:A": {"load_items": 8, "load_cpu_ms": 9.0}},
        "ours": {**info, **ours},
    }


def test_a_goal_is_reached_only_where_all_of_it_is(bench: Any) -> None:
    row = next(row for row in bench.table.ROWS if row.scenario == "s2")
    assert bench.table.verdict(row, 290.0, 4500.0) == "15x, at most 300: yes"
    assert bench.table.verdict(row, 310.0, 9000.0) == "15x, at most 300: NO"
    assert bench.table.verdict(row, 290.0, 3000.0) == "15x, at most 300: NO"


def test_the_table_compares_only_what_got_to_the_same_place(bench: Any) -> None:
    stored = {"load_items": 16, "load_cpu_ms": 3.0}
    figures = peers(**{"s2": {"cpu_us": 450.0}, "s8:B": stored})
    figures["ours-inline"] = {**figures["ours"], "s2": {"cpu_us": 300.0}}
    by_name = {line[0]: line for line in bench.table.main_lines(figures)}
    assert by_name["S2 us per invocation (CPU)"][1:6] == ["4500", "300", "450", "15x", "10x"]
    assert by_name["S8 load and look at every item, CPU ms"][1:6] == ["9", "3", "3", "-", "-"]


def test_blocks_are_replaced_and_the_rest_is_kept(bench: Any) -> None:
    source = bench.report.Peers({"peers": peers(s2={"cpu_us": 450.0})})
    text = "# A\n<!-- figures missed -->\nold\n<!-- end -->\nB\n"
    text += "<!-- figures other -->\nC\n<!-- end -->\n"
    done = bench.report.filled(text, source)
    assert "old" not in done and "S2 us per invocation" in done
    assert done.startswith("# A\n") and "B\n<!-- figures other -->\nC\n" in done
    assert bench.report.filled(done, source) == done


def test_a_chart_shows_every_curve_and_point(bench: Any) -> None:
    curves = {"a <b>": [(10, 0.5), (1000, 80.0)], "none": [], "c": [(100, 3.0)]}
    svg = bench.plot.chart("T & U", "x", "y", curves, log_x=True, log_y=True)
    root = ElementTree.fromstring(svg)
    marks = [e for e in root.iter() if e.tag.endswith("circle") and e.get("r") == "3"]
    lines = [e for e in root.iter() if e.tag.endswith("polyline")]
    assert (len(marks), len(lines)) == (3, 2)
    for mark in marks:
        assert 0 <= float(mark.get("cx", -1)) <= 720 and 0 <= float(mark.get("cy", -1)) <= 380


def test_the_documents_have_the_kept_figures(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever measures anew runs the report too; nobody edits figures."""
    monkeypatch.setattr("sys.argv", ["report.py", "--check"])
    assert bench.report.main() == 0
