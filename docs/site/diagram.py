"""Draws the Mermaid diagrams of the pages as SVG, so that the site needs no script and no network.

It reads the part of Mermaid that the pages use: flowcharts with boxes, edges and labels, and
sequence diagrams with participants, messages and notes. Anything else raises `DiagramError`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

CHAR = 7.4  # width of a character, in pixels, at a font size of 13
LINE = 18
PAD_X, PAD_Y = 14, 10
GAP_RANK, GAP_NODE = 58, 26

_NODE = re.compile(
    r"(?P<id>\w+)(?P<shape>\(\[|\[\(|\{\{|\[|\(|\{)?"
    r'(?(shape)"?(?P<text>[^"\]\)\}]*)"?(?:\]\)|\)\]|\}\}|\]|\)|\}))'
)
_EDGE = re.compile(r"\s*(?P<line>-->|-\.->|---)\s*(?:\|(?P<label>[^|]*)\|)?\s*")
_MESSAGE = re.compile(r"(\w+)\s*(->>|-->>|-x)\s*(\w+)\s*:\s*(.*)")
_NOTE = re.compile(r"Note over (\w+)(?:,\s*(\w+))?\s*:\s*(.*)")


class DiagramError(ValueError):
    """A diagram uses something that is not drawn here; the message holds the line."""


@dataclass
class Box:
    """A box of a flowchart, with its place in the picture."""

    name: str
    lines: list[str]
    shape: str = "["
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        """Width in pixels."""
        return max(len(line) for line in self.lines) * CHAR + 2 * PAD_X

    @property
    def height(self) -> float:
        """Height in pixels."""
        return len(self.lines) * LINE + 2 * PAD_Y


@dataclass
class Arrow:
    """An edge of a flowchart."""

    source: str
    target: str
    label: str = ""
    is_dotted: bool = False


@dataclass
class Chart:
    """A flowchart: its direction, its boxes by name, and its edges."""

    direction: str
    boxes: dict[str, Box] = field(default_factory=dict[str, Box])
    arrows: list[Arrow] = field(default_factory=list[Arrow])


def draw_diagram(text: str) -> str:
    """Return the SVG of a Mermaid diagram.

    Raises:
      DiagramError: the diagram uses something that is not supported.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith("%%")]
    if not lines:
        raise DiagramError("The diagram is empty.")
    kind, *rest = lines[0].split()
    if kind in ("flowchart", "graph"):
        return _draw_chart(_read_chart(rest[0] if rest else "TD", lines[1:]))
    if kind == "sequenceDiagram":
        return _draw_sequence(lines[1:])
    raise DiagramError(f"Diagrams of the kind {kind!r} are not drawn; use a flowchart.")


# -- flowcharts ------------------------------------------------------------------------------------


def _read_chart(direction: str, lines: list[str]) -> Chart:
    if direction not in ("TD", "TB", "BT", "LR"):
        raise DiagramError(f"The direction {direction!r} is not drawn.")
    chart = Chart(direction)
    for line in lines:
        at, previous, pending = 0, "", Arrow("", "")
        while at < len(line):
            node = _NODE.match(line, at)
            if node is None:
                raise DiagramError(f"This line is not drawn: {line!r}")
            name = _add_box(chart, node)
            if previous:
                chart.arrows.append(Arrow(previous, name, pending.label, pending.is_dotted))
            at = node.end()
            if at == len(line):
                break
            edge = _EDGE.match(line, at)
            if edge is None:
                raise DiagramError(f"This line is not drawn: {line!r}")
            pending = Arrow("", "", (edge["label"] or "").strip('" '), edge["line"] == "-.->")
            previous, at = name, edge.end()
    return chart


def _add_box(chart: Chart, node: re.Match[str]) -> str:
    name = node["id"]
    if node["shape"] or name not in chart.boxes:
        text = node["text"] if node["shape"] else name
        chart.boxes[name] = Box(name, re.split(r"<br\s*/?>", text), node["shape"] or "[")
    return name


def _rank_boxes(chart: Chart) -> tuple[list[list[Box]], list[Arrow]]:
    """Return the boxes by rank, and the arrows that lead back to a lower rank."""
    back: list[Arrow] = []
    order = {name: number for number, name in enumerate(chart.boxes)}
    ranks = dict.fromkeys(chart.boxes, 0)
    forward: list[Arrow] = []
    for arrow in chart.arrows:
        is_forward = order[arrow.source] < order[arrow.target]
        (forward if is_forward else back).append(arrow)
    for name in chart.boxes:
        for arrow in forward:
            if arrow.source == name:
                ranks[arrow.target] = max(ranks[arrow.target], ranks[name] + 1)
    rows: list[list[Box]] = [[] for _ in range(max(ranks.values(), default=0) + 1)]
    for name, box in chart.boxes.items():
        rows[ranks[name]].append(box)
    return rows, back


def _draw_chart(chart: Chart) -> str:
    rows, back = _rank_boxes(chart)
    is_wide = chart.direction == "LR"
    if chart.direction == "BT":
        rows.reverse()
    across = max(sum(_span(box, is_wide) + GAP_NODE for box in row) for row in rows)
    along = 10.0
    longest = max((len(arrow.label) for arrow in chart.arrows), default=0)
    gap = max(GAP_RANK, longest * CHAR + 30) if is_wide else GAP_RANK
    for row in rows:
        depth = max(box.width if is_wide else box.height for box in row)
        used = sum(_span(box, is_wide) + GAP_NODE for box in row)
        place = (across - used) / 2 + GAP_NODE / 2
        for box in row:
            if is_wide:
                box.x, box.y = along + (depth - box.width) / 2, place
            else:
                box.x, box.y = place, along + (depth - box.height) / 2
            place += _span(box, is_wide) + GAP_NODE
        along += depth + gap
    length = along - gap + 10
    margin = 90 if back else 0
    width, height = (length, across + margin) if is_wide else (across + margin, length)
    parts = [
        _draw_arrow(chart, arrow, is_wide, arrow in back, width, height) for arrow in chart.arrows
    ]
    parts += [_draw_box(box) for box in chart.boxes.values()]
    return _wrap_svg(width, height, parts)


def _span(box: Box, is_wide: bool) -> float:
    return box.height if is_wide else box.width


def _draw_box(box: Box) -> str:
    radius = box.height / 2 if box.shape == "([" else 14 if box.shape == "(" else 5
    kind = " soft" if box.shape in ("{", "{{", "[(") else ""
    texts = _draw_lines(box.lines, box.x + box.width / 2, box.y + PAD_Y + 13)
    return (
        f'<rect class="box{kind}" x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" '
        f'height="{box.height:.0f}" rx="{radius:.0f}"/>{texts}'
    )


def _draw_arrow(
    chart: Chart, arrow: Arrow, is_wide: bool, is_back: bool, width: float, height: float
) -> str:
    a, b = chart.boxes[arrow.source], chart.boxes[arrow.target]
    ax, ay = a.x + a.width / 2, a.y + a.height / 2
    bx, by = b.x + b.width / 2, b.y + b.height / 2
    style = ' stroke-dasharray="5 4"' if arrow.is_dotted else ""
    if is_back:
        return _draw_back_arrow(a, b, arrow, is_wide, width, height)
    if is_wide:
        start, end = (a.x + a.width, ay), (b.x - 3, by)
        middle = (start[0] + end[0]) / 2
        bend = f"C{middle:.0f},{ay:.0f} {middle:.0f},{by:.0f}"
        path = f"M{start[0]:.0f},{ay:.0f} {bend} {end[0]:.0f},{by:.0f}"
    else:
        down = by > ay
        start = (ax, a.y + a.height if down else a.y)
        end = (bx, b.y - 3 if down else b.y + b.height + 3)
        middle = (start[1] + end[1]) / 2
        bend = f"C{ax:.0f},{middle:.0f} {bx:.0f},{middle:.0f}"
        path = f"M{ax:.0f},{start[1]:.0f} {bend} {bx:.0f},{end[1]:.0f}"
    label = _draw_label(arrow.label, (start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    return f'<path class="edge" d="{path}"{style} marker-end="url(#arrow)"/>{label}'


def _draw_back_arrow(
    a: Box, b: Box, arrow: Arrow, is_wide: bool, width: float, height: float
) -> str:
    """An arrow to an earlier box runs around the others, along the free margin."""
    if is_wide:
        ax, bx, low = a.x + a.width / 2, b.x + b.width / 2, height - 40
        path = (
            f"M{ax:.0f},{a.y + a.height:.0f} C{ax:.0f},{low + 30:.0f} {bx:.0f},{low + 30:.0f} "
            f"{bx:.0f},{b.y + b.height + 3:.0f}"
        )
        label = _draw_label(arrow.label, (ax + bx) / 2, low + 8)
    else:
        ay, by, far = a.y + a.height / 2, b.y + b.height / 2, width - 30
        path = (
            f"M{a.x + a.width:.0f},{ay:.0f} C{far:.0f},{ay:.0f} {far:.0f},{by:.0f} "
            f"{b.x + b.width + 3:.0f},{by:.0f}"
        )
        label = _draw_label(arrow.label, far - 50, (ay + by) / 2)
    return f'<path class="edge" d="{path}" marker-end="url(#arrow)"/>{label}'


def _draw_label(text: str, x: float, y: float) -> str:
    if not text:
        return ""
    width = len(text) * CHAR + 8
    return (
        f'<rect class="plate" x="{x - width / 2:.0f}" y="{y - 10:.0f}" width="{width:.0f}" '
        f'height="19" rx="3"/><text class="label" x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'
    )


def _draw_lines(lines: list[str], x: float, y: float) -> str:
    return "".join(
        f'<text x="{x:.0f}" y="{y + number * LINE:.0f}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )


# -- sequence diagrams -----------------------------------------------------------------------------


def _draw_sequence(lines: list[str]) -> str:
    names: dict[str, str] = {}
    steps: list[tuple[str, str, str, str]] = []
    for line in lines:
        if found := re.fullmatch(r"(?:participant|actor) (\w+)(?: as (.*))?", line):
            names[found[1]] = found[2] or found[1]
        elif found := _MESSAGE.fullmatch(line):
            steps.append((found[2], found[1], found[3], found[4]))
        elif found := _NOTE.fullmatch(line):
            steps.append(("note", found[1], found[2] or found[1], found[3]))
        else:
            raise DiagramError(f"This line is not drawn: {line!r}")
    for _, source, target, _ in steps:
        names.setdefault(source, source)
        names.setdefault(target, target)
    order = {name: number for number, name in enumerate(names)}
    reach = 150.0
    for _, source, target, text in steps:
        distance = max(1, abs(order[source] - order[target]))
        reach = max(reach, (len(text) * CHAR + 30) / distance)
    first = 90 + _overhang(steps, {name: number * reach for name, number in order.items()})
    place = {name: first + number * reach for name, number in order.items()}
    height = 70 + len(steps) * 42 + 10
    parts = [_draw_lifeline(names[name], x, height) for name, x in place.items()]
    for number, (kind, source, target, text) in enumerate(steps):
        parts.append(_draw_step(kind, place[source], place[target], text, 78 + number * 42))
    return _wrap_svg(2 * first + (len(names) - 1) * reach, height, parts)


def _overhang(steps: list[tuple[str, str, str, str]], place: dict[str, float]) -> float:
    """Return how far notes and messages to oneself reach beyond the outer participants' room."""
    last, needed = max(place.values()), 90.0
    for kind, source, target, text in steps:
        middle = (place[source] + place[target]) / 2
        if kind == "note":
            half = _note_width(place[source], place[target], text) / 2
            needed = max(needed, half - middle, middle + half - last)
        elif source == target:
            needed = max(needed, middle + 64 + len(text) * CHAR - last)
    return needed - 90 + (4 if needed > 90 else 0)


def _note_width(source: float, target: float, text: str) -> float:
    return max(abs(target - source) + 60, len(text) * CHAR + 20)


def _draw_lifeline(name: str, x: float, height: float) -> str:
    width = len(name) * CHAR + 2 * PAD_X
    return (
        f'<line class="life" x1="{x:.0f}" y1="44" x2="{x:.0f}" y2="{height - 6:.0f}"/>'
        f'<rect class="box" x="{x - width / 2:.0f}" y="8" width="{width:.0f}" height="36" rx="5"/>'
        f'<text x="{x:.0f}" y="31">{escape(name)}</text>'
    )


def _draw_step(kind: str, source: float, target: float, text: str, y: float) -> str:
    middle = (source + target) / 2
    if kind == "note":
        width = _note_width(source, target, text)
        return (
            f'<rect class="box soft" x="{middle - width / 2:.0f}" y="{y - 16:.0f}" '
            f'width="{width:.0f}" height="28" rx="3"/>'
            f'<text x="{middle:.0f}" y="{y + 3:.0f}">{escape(text)}</text>'
        )
    style = ' stroke-dasharray="5 4"' if kind == "-->>" else ""
    end = target - 4 if target > source else target + 4
    if source == target:
        path = f"M{source:.0f},{y - 8:.0f} h46 v20 h-42"
        return (
            f'<path class="edge" d="{path}"{style} marker-end="url(#arrow)"/>'
            f'<text class="label start" x="{source + 54:.0f}" y="{y + 6:.0f}">{escape(text)}</text>'
        )
    return (
        f'<path class="edge" d="M{source:.0f},{y:.0f} L{end:.0f},{y:.0f}"{style} '
        f'marker-end="url(#arrow)"/>'
        f'<text class="label" x="{middle:.0f}" y="{y - 7:.0f}">{escape(text)}</text>'
    )


def _wrap_svg(width: float, height: float, parts: list[str]) -> str:
    marker = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0,0 L8,4 L0,8 z"/></marker></defs>'
    )
    return (
        f'<svg class="diagram" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" xmlns="http://www.w3.org/2000/svg">{marker}{"".join(parts)}</svg>'
    )
