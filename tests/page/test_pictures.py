"""The pictures that the documents show: renewed by a command, shown somewhere, and small."""

from __future__ import annotations

from tests.page import browser, pictures


def test_every_picture_is_renewed_and_shown() -> None:
    there = {one.stem for one in pictures.IMAGES.glob("page-*.png")}
    old = {name for name in there if name.startswith("page-before-")}
    assert there - old == set(pictures.PICTURES)
    texts = [browser.ROOT / "README.md", *(browser.ROOT / "docs").glob("*.md")]
    shown = "".join(one.read_text() for one in texts)
    assert [name for name in sorted(there) if f"images/{name}.png" not in shown] == []


def test_they_come_from_scenarios_and_are_small() -> None:
    assert {scenario for scenario, _ in pictures.PICTURES.values()} <= set(browser.SCENARIOS)
    assert pictures.size_of_all() <= pictures.MOST
