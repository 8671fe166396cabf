"""Curves as small SVG files: axes, lines, marks and a legend, nothing more. Colours suit a light
and a dark page."""

import math
from html import escape

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 34, 48
COLOURS = (
    "#3b7dd8",
    "#d1495b",
    "#2a9d6f",
    "#e09f3e",
    "#8367c7",
    "#4f9da6",
    "#a26a42",
    "#7a7a7a",
    "#e0218a",
)
STYLE = (
    "text{font:12px sans-serif;fill:#808080}.title{font-size:14px;font-weight:600}"
    ".axis{stroke:#808080;stroke-width:1}.grid{stroke:#808080;stroke-opacity:.2}"
    "polyline{fill:none;stroke-width:2}"
)


def ticks(low, high, is_log):
    """Where the lines of the grid lie: the powers of ten, or about five round numbers."""
    if is_log:
        found = [
            10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ]
        return [tick for tick in found if low <= tick <= high] or [low, high]
    rough = (high - low) / 5 or 1
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def short(value):
    """A tick's number: 2000 is 2k."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return "%g%s" % (value / size, letter)
    return "%.3g" % value


class Axis:
    """Maps figures to places; logarithmic where asked."""

    def __init__(self, values, start, end, is_log):
        self.is_log, self.start, self.end = is_log, start, end
        self.low = min(values) if is_log else 0
        self.high = max(max(values), self.low * 1.001) or 1
        if is_log:  # whole powers of ten
            self.low = 10.0 ** math.floor(math.log10(self.low))
            self.high = 10.0 ** math.ceil(math.log10(self.high) - 1e-9)

    def place(self, value):
        change = math.log10 if self.is_log else float
        share = (change(value) - change(self.low)) / (change(self.high) - change(self.low) or 1)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        return ticks(self.low, self.high, self.is_log)


def chart(title, x_label, y_label, curves, log_x=False, log_y=False):
    """The SVG text of some curves.

    `curves` maps a name to points (x, y); with a logarithmic axis they have to be positive.
    """
    curves = {name: sorted(points) for name, points in curves.items() if points}
    every = [point for points in curves.values() for point in points]
    x = Axis([point[0] for point in every], LEFT, WIDTH - RIGHT, log_x)
    y = Axis([point[1] for point in every], HEIGHT - BOTTOM, TOP, log_y)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">' % (WIDTH, HEIGHT),
        "<title>%s</title><style>%s</style>" % (escape(title), STYLE),
        '<text class="title" x="%d" y="18">%s</text>' % (LEFT, escape(title)),
    ]
    for tick in x.ticks():
        at = x.place(tick)
        parts.append(line("grid", at, TOP, at, HEIGHT - BOTTOM))
        parts.append(text(at, HEIGHT - BOTTOM + 16, short(tick), "middle"))
    for tick in y.ticks():
        at = y.place(tick)
        parts.append(line("grid", LEFT, at, WIDTH - RIGHT, at))
        parts.append(text(LEFT - 6, at + 4, short(tick), "end"))
    parts.append(line("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM))
    parts.append(line("axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label, "middle"))
    turned = 'transform="rotate(-90 16 %d)"' % (HEIGHT // 2)
    parts.append(text(16, HEIGHT // 2, y_label, "middle", turned))
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(x.place(a), y.place(b)) for a, b in points]
        joined = " ".join("%.1f,%.1f" % place for place in places)
        parts.append('<polyline stroke="%s" points="%s"/>' % (colour, joined))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (*p, colour) for p in places]
        top = TOP + 8 + 20 * number
        parts.append(
            '<circle cx="%d" cy="%d" r="5" fill="%s"/>' % (WIDTH - RIGHT + 20, top, colour)
        )
        parts.append(text(WIDTH - RIGHT + 32, top + 4, name, "start"))
    return "\n".join([*parts, "</svg>", ""])


def line(kind, x1, y1, x2, y2):
    return '<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>' % (kind, x1, y1, x2, y2)


def text(x, y, what, anchor, more=""):
    ends = (x, y, anchor, more, escape(str(what)))
    return '<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>' % ends
