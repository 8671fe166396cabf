"""Texts of others in Markdown and HTML: nothing of them is markup, and nothing is hidden."""

from __future__ import annotations

import pytest

from ostinato.evaluation.markup import escape_html, fence, quote, quote_cell, reveal

EVIL = "![x](http://e/x.png) [a](javascript:x) **b** @admin #1 <script>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, Привет 東京 👨‍👩‍👧", "plain, Привет 東京 👨‍👩‍👧"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
        ("\x1b[31m\x00\x7f\x85", "\\u001b[31m\\u0000\\u007f\\u0085"),
        ("\ufffe\u2028\ud800\u200b", "\\ufffe\\u2028\\ud800\\u200b"),
        ("a\tb\r\nc\rd", "a\tb\nc\\u000dd"),
    ],
)
def test_hidden_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert reveal(text) == shown
    assert escape_html(f"<{text}>") == f"&lt;{shown}&gt;"


@pytest.mark.parametrize(
    ("text", "quoted", "cell"),
    [
        (EVIL, f"`{EVIL}`", f"`{EVIL}`"),
        ("a\n# b\n\n```\nc", "````a # b ``` c````", None),
        ("`", "`` ` ``", None),
        ("`a", "`` `a ``", None),
        ("a | b", "`a | b`", "`a \\| b`"),
        ("a\\|b", "`a\\|b`", "`a\\u005c\\|b`"),
        ("a\\", "`a\\`", None),
        ("  \n", "", None),
        ("a\u2028b\x85c\td", "`a\\u2028b\\u0085c d`", None),
        ("\u202e|", "`\\u202e|`", "`\\u202e\\|`"),
    ],
)
def test_a_name_is_quoted_as_code(text: str, quoted: str, cell: str | None) -> None:
    assert quote(text) == quoted
    assert quote_cell(text) == (quoted if cell is None else cell)


def test_a_long_name_is_cut() -> None:
    assert quote("abcdef", 4) == "`abc…`"
    assert quote_cell("|||||", 3) == "`\\|\\|…`"


@pytest.mark.parametrize("text", ["no", "a\n```\nb", "````", "``"])
def test_a_text_cannot_end_its_fence(text: str) -> None:
    first, *lines, last = fence(text, "text")
    assert first == f"{last}text" and set(last) == {"`"} and len(last) >= 3
    assert last not in text and "\n".join(lines) == text
