"""The documents are plain English: short sentences, and no banned phrase."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.prose import MAX_WORDS, find_faults, find_pages, read_sentences


@pytest.mark.parametrize("page", find_pages(), ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_the_prose_of_a_page_has_no_fault(page: Path) -> None:
    assert not find_faults(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word " * (MAX_WORDS + 1), "41 words, at most 40"),
        ("Call it in order to stop.", "'in order to': write 'to'"),
        ("It tells whether it runs.", "'tells whether': write 'Return whether'"),
        ("This is simply a function.", "'simply'"),
        ("Here we call the model.", "'we'"),
        (("one two three " * 8 + ". ") * 6, "25.0 words per sentence"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert fault in "\n".join(find_faults(text))


def test_code_tables_and_headings_are_no_sentences() -> None:
    text = (
        "# A heading of four words\n\n```python\nwe = simply(a, b, c)\n```\n\n"
        "| a cell of | many words |\n|---|---|\n\nThe name `we` is one [long word](simply.md).\n"
    )
    assert list(read_sentences(text)) == ["The name NAME is one long word."]
