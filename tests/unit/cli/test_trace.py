"""`ostinato trace`: a session's runs as a waterfall."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.cli.trace import build_waterfall
from ostinato.telemetry.recorder import SpanRecord
from tests.unit.cli.conftest import MakeAgent, Ostinato

DESK = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call

def note(text: str) -> str:
    return "noted"

def fail() -> str:
    raise ValueError("no paper")

def answer(request):
    last = request.contents[-1].parts[-1]
    if last.text == "fail":
        return call("fail")
    return call("note", text=last.text) if last.text else "Noted."

root_agent = Agent(name="desk", model=FunctionModel(answer), tools=[note, fail])
"""


def test_a_run_shows_what_took_how_long(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first")
    done = ostinato("trace", "first")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("invocation e-")
    assert [line.split("  ")[0] or line.strip().split("  ")[0] for line in lines[1:3]] == [
        "invocation",
        "invoke_agent desk",
    ]
    names = [" ".join(line.split()[:2]) for line in lines[3:]]
    assert names == ["chat function", "execute_tool note", "chat function"]
    assert all("━" in line and " ms" in line for line in lines[1:])


def test_an_error_stands_at_its_spans(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "fail", "--session", "first")
    out = ostinato("trace", "fir").out
    assert "ValueError: no paper" in out


def test_one_invocation_can_be_chosen(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first")
    ostinato("run", "desk", "eggs", "--session", "first")
    both = ostinato("trace", "first").out
    ids = [line.split()[1] for line in both.splitlines() if line.startswith("invocation e-")]
    assert len(ids) == 2
    one = ostinato("trace", "first", "--invocation", ids[1]).out
    assert [line for line in one.splitlines() if line.startswith("invocation e-")] == [
        f"invocation {ids[1]}"
    ]


def test_what_is_not_there_is_said(
    make_agent: MakeAgent, ostinato: Ostinato, tmp_path: Path
) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first")
    assert "There is no session 'other'" in ostinato("trace", "other").err
    (tmp_path / ".ostinato" / "traces.db").unlink()
    missing = ostinato("trace", "first")
    assert missing.code == 1
    assert "No spans are kept in .ostinato/traces.db" in missing.err


def test_deleting_a_session_deletes_its_spans(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(DESK)
    ostinato("run", "desk", "milk", "--session", "first")
    ostinato("run", "desk", "milk", "--session", "second")
    ostinato("sessions", "delete", "first", "--yes")
    ostinato("run", "desk", "eggs", "--session", "first")
    assert ostinato("trace", "first").out.count("invocation e-") == 1
    assert ostinato("trace", "second").out.count("invocation e-") == 1


def span(number: int, parent: int | None, start: float, end: float | None) -> SpanRecord:
    above = None if parent is None else f"{parent:016x}"
    return SpanRecord(f"{number:016x}", "t", above, f"s{number}", "chat", start, end)


def test_rows_lie_within_the_whole() -> None:
    ((root, rows),) = build_waterfall(
        [span(1, None, 10, 20), span(3, 1, 15, 20), span(2, 1, 10, 12.5), span(4, 3, 19, None)]
    )
    assert root.name == "s1"
    assert [(r.span.name, r.depth, r.offset, r.share) for r in rows] == [
        ("s1", 0, 0.0, 1.0),
        ("s2", 1, 0.0, 0.25),
        ("s3", 1, 0.5, 0.5),
        ("s4", 2, 0.9, 0.0),
    ]
    assert [r.took for r in rows] == ["10.00 s", "2.50 s", "5.00 s", "open"]


def test_a_span_whose_parent_was_pruned_is_a_root() -> None:
    assert [root.name for root, _ in build_waterfall([span(2, 1, 5, 6), span(3, 2, 5, 6)])] == [
        "s2"
    ]


@pytest.mark.parametrize(
    ("attributes", "note"),
    [
        ({}, ""),
        ({"gen_ai.usage.input_tokens": 1200, "gen_ai.usage.output_tokens": 7}, "1,200 in, 7 out"),
    ],
)
def test_tokens_are_noted(attributes: dict[str, int], note: str) -> None:
    one = span(1, None, 1, 2)
    one.attributes = attributes
    ((_, (row,)),) = build_waterfall([one])
    assert row.note == note
