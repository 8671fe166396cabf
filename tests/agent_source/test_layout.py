"""Expressions set out as source text: the same as ruff sets them out."""

from __future__ import annotations

import ast

import pytest

from ostinato.agent_source.layout import WIDTH, Group, Item, Text, call, listed, quoted, render

TEXTS = [
    "", "plain", 'a "quote"', "it's", "both ' and \"", "back\\slash", "tab\there", "null\x00",
    "ünï ☃", "line\nline", "line\nline\n", "\n\nlines", 'ends "\nin a quote"', '"""\n\'\'\'',
    "one \n two\\n\n", "trailing  \nspaces ", "bell\x07\nline", "\u2028\nline", "word " * 60,
    "x" * 200, "a" * 80 + " " + "b" * 90, " lead " * 30, "cr\r\nlf",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("depth", [0, 3])
def test_a_text_means_itself_however_it_is_set(text: str, depth: int) -> None:
    source = f"call({render(Text(text), 10, depth, 1)})"
    assert ast.literal_eval(ast.parse(source).body[0].value.args[0]) == text  # type: ignore[attr-defined]


def test_quotes_as_ruff_chooses_them() -> None:
    assert quoted("a") == '"a"'
    assert quoted('say "a"') == "'say \"a\"'"
    assert quoted('it\'s "a"') == "'it\\'s \"a\"'"
    assert quoted("it's") == '"it\'s"'


def test_what_fits_stays_on_one_line() -> None:
    value = call("f", [Item("1", "a="), Item(listed([Text("x")]), "b=")])
    assert render(value) == 'f(a=1, b=["x"])'
    assert render(value, WIDTH - 15) == 'f(a=1, b=["x"])'
    assert render(value, WIDTH - 14) == 'f(\n    a=1,\n    b=["x"],\n)'
    assert render(call("f", [], open=True)) == "f()"


def test_comments_and_lines_open_what_holds_them() -> None:
    value = call("f", [Item(Group("{", [Item("1", '"a": ', ["# why"])], "}"), "b=")])
    assert render(value) == 'f(\n    b={\n        # why\n        "a": 1,\n    },\n)'
    assert render(call("f", [Item(Text("a\nb"), "t=")])) == 'f(\n    t="""\\\na\nb""",\n)'
