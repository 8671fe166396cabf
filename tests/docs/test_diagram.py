"""The diagrams of the documents are drawn without a browser."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest
from docs.site.diagram import DiagramError, draw_diagram

ROOT = Path(__file__).resolve().parents[2]
MERMAID = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)


def texts_of(svg: str) -> list[str]:
    """Return the texts of a picture, in order."""
    root = ElementTree.fromstring(svg)
    return [node.text or "" for node in root.iter() if node.tag.endswith("}text")]


def test_every_diagram_of_the_documents_is_drawn() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    diagrams = [text for page in pages for text in MERMAID.findall(page.read_text("utf-8"))]
    assert len(diagrams) > 10
    for text in diagrams:
        assert texts_of(draw_diagram(text))


def test_every_concept_has_a_picture() -> None:
    pages = [page for page in ROOT.glob("docs/concepts/*.md") if page.stem != "index"]
    assert len(pages) > 10
    assert not [page.name for page in pages if len(MERMAID.findall(page.read_text("utf-8"))) != 1]


def test_a_chart_has_its_boxes_edges_and_labels() -> None:
    svg = draw_diagram('flowchart LR\n  a["one<br/>two & three"] -->|yes| b{"four"}\n  b -.-> a\n')
    assert texts_of(svg) == ["yes", "one", "two & three", "four"]
    assert svg.count('class="edge"') == 2


def test_boxes_of_one_rank_do_not_overlap() -> None:
    svg = draw_diagram("flowchart TD\n  a --> b\n  a --> c\n  a --> d\n")
    boxes = re.findall(r'class="box" x="(\d+)" y="(\d+)" width="(\d+)"', svg)
    (_, *row) = [(int(x), int(y), int(width)) for x, y, width in boxes]
    assert len({y for _, y, _ in row}) == 1
    for left, right in pairwise(row):
        assert left[0] + left[2] < right[0]


def test_a_sequence_has_its_participants_messages_and_notes() -> None:
    svg = draw_diagram(
        "sequenceDiagram\n  participant a as caller\n  a->>b: ask\n  b-->>a: answer\n"
        "  Note over b: waits\n  b->>b: think\n"
    )
    assert texts_of(svg) == ["caller", "b", "ask", "answer", "waits", "think"]


def test_a_long_note_at_the_edge_is_within_the_picture() -> None:
    long = "a note that is much longer than the name below which it stands"
    svg = draw_diagram(
        f"sequenceDiagram\n  a->>b: ask\n  Note over b: {long}\n  Note over a: {long}\n"
    )
    width = int(re.findall(r'viewBox="0 0 (\d+)', svg)[0])
    for x, size in re.findall(r'class="box soft" x="(-?\d+)" y="\d+" width="(\d+)"', svg):
        assert int(x) >= 0 and int(x) + int(size) <= width


@pytest.mark.parametrize(
    "text",
    ["", "pie\n  a: 1", "flowchart XX\n a", "flowchart TD\n a ~~~ b", "sequenceDiagram\n loop x"],
)
def test_what_is_not_drawn_is_an_error(text: str) -> None:
    with pytest.raises(DiagramError):
        draw_diagram(text)
