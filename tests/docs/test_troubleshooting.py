"""The page of errors has every class of `ostinato.errors`, each with its cause and its remedy."""

from __future__ import annotations

import re
from pathlib import Path

from ostinato import errors

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting" / "errors.md"
SOURCE = ROOT / "src" / "ostinato"


def read_sections() -> dict[str, str]:
    """Return the text below each heading of the page."""
    pieces = re.split(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def test_every_class_of_error_has_a_section_and_no_other() -> None:
    classes = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.OstinatoError)
    ]
    assert len(classes) > 40
    assert set(read_sections()) == set(classes)


def test_every_section_has_a_cause_and_a_remedy() -> None:
    lacking = [
        name
        for name, text in read_sections().items()
        if not re.search(r"\*\*Cause\.\*\* \S.*\*\*Remedy\.\*\* \S", text, re.DOTALL)
    ]
    assert not lacking


def test_every_quoted_message_occurs_in_the_source() -> None:
    page = (PAGE.parent / "index.md").read_text(encoding="utf-8")
    table = page.partition("## By message")[2].partition("\n## ")[0]
    quoted = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(quoted) > 15
    source = "".join(
        re.sub(r'"\n\s*f?"', "", file.read_text(encoding="utf-8"))
        for file in sorted(SOURCE.rglob("*.py"))
    )
    assert not [text for text in quoted if text not in source]
