"""Expressions set out as source text: the same as ruff sets them out."""

from __future__ import annotations

import ast

import pytest

from ostinato.agent_source.layout import (
    WIDTH,
    Group,
    Item,
    Text,
    call_source,
    list_source,
    quote_text,
    render_source,
)

TEXTS = [
    "", "plain", 'a "quote"', "it's", "both ' and \"", "back\\slash", "tab\there", "null\x00",
    "ünï ☃", "line\nline", "line\nline\n", "\n\nlines", 'ends "\nin a quote"', '"""\n\'\'\'',
    "one \n two\\n\n", "trailing  \nspaces ", "bell\x07\nline", "\u2028\nline", "word " * 60,
    "x" * 200, "a" * 80 + " " + "b" * 90, " lead " * 30, "cr\r\nlf",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("depth", [0, 3])
def test_a_text_means_itself_however_it_is_set(text: str, depth: int) -> None:
    source = f"call({render_source(Text(text), 10, depth, 1)})"
    assert ast.literal_eval(ast.parse(source).body[0].value.args[0]) == text  # type: ignore[attr-defined]


def test_quotes_as_ruff_chooses_them() -> None:
    assert quote_text("a") == '"a"'
    assert quote_text('say "a"') == "'say \"a\"'"
    assert quote_text('it\'s "a"') == "'it\\'s \"a\"'"
    assert quote_text("it's") == '"it\'s"'


def test_what_fits_stays_on_one_line() -> None:
    value = call_source("f", [Item("1", "a="), Item(list_source([Text("x")]), "b=")])
    assert render_source(value) == 'f(a=1, b=["x"])'
    assert render_source(value, WIDTH - 15) == 'f(a=1, b=["x"])'
    assert render_source(value, WIDTH - 14) == 'f(\n    a=1,\n    b=["x"],\n)'
    assert render_source(call_source("f", [], open=True)) == "f()"


def test_comments_and_lines_open_what_holds_them() -> None:
    value = call_source("f", [Item(Group("{", [Item("1", '"a": ', ["# why"])], "}"), "b=")])
    assert render_source(value) == 'f(\n    b={\n        # why\n        "a": 1,\n    },\n)'
    assert (
        render_source(call_source("f", [Item(Text("a\nb"), "t=")]))
        == 'f(\n    t="""\\\na\nb""",\n)'
    )
