"""The page's colours, from its style sheet: text is at least 4.5 to 1 on what it stands on, and
what is no text but has to be seen 3 to 1 (WCAG 2.2 AA, 1.4.3 and 1.4.11), in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

STYLE = Path(__file__).resolve().parents[2] / "page" / "src" / "styles" / "tokens.css"

_BLOCK = re.compile(r"^\s*(:root|\[data-theme=\"(\w+)\"\]) \{(.*?)\}", re.DOTALL | re.MULTILINE)
_COLOUR = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")

TEXT = [
    *((front, back) for front in ("front", "quiet") for back in ("back", "side", "card", "mine")),
    *((front, back) for front in ("accent", "bad", "warn", "good") for back in ("back", "card")),
    *((front, "mine") for front in ("accent", "bad", "warn", "good")),
    ("on-accent", "accent"),
    ("front", "added"),
    ("front", "removed"),
]
SHAPES = [
    *((bar, "back") for bar in ("chat", "tool", "agent", "bad")),
    *((bar, "mine") for bar in ("chat", "tool", "agent", "bad")),
    ("accent", "side"),
    ("edge", "back"),
    ("edge", "card"),
    ("edge", "side"),
]


def themes() -> dict[str, dict[str, str]]:
    """Return the colours of each theme; a theme keeps the root's where it names none."""
    found: dict[str, dict[str, str]] = {}
    for selector, theme, body in _BLOCK.findall(STYLE.read_text(encoding="utf-8")):
        name = "light" if selector == ":root" else theme
        found[name] = {**found.get("light", {}), **dict(_COLOUR.findall(body))}
    return found


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("least", "pairs"), [(4.5, TEXT), (3.0, SHAPES)], ids=["text", "shapes"])
def test_everything_can_be_read(theme: str, least: float, pairs: list[tuple[str, str]]) -> None:
    colours = themes()[theme]
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: round(value, 2) for pair, value in found.items() if value < least} == {}


def test_the_theme_of_the_system_is_the_dark_one() -> None:
    found = themes()
    assert found["auto"] == found["dark"]
