"""Reading .env files."""

from __future__ import annotations

import pytest

from ostinato.hosting.dotenv import read_env


def test_names_quotes_comments_and_exports() -> None:
    text = """
# a comment
PLAIN=one two   # and why
export EXPORTED = three
SINGLE='# not a comment\\n'
DOUBLE="two\\nlines" # yes
EMPTY=
HASH=a#b
OPEN="half
"""
    assert read_env(text) == {
        "PLAIN": "one two",
        "EXPORTED": "three",
        "SINGLE": "# not a comment\\n",
        "DOUBLE": "two\nlines",
        "EMPTY": "",
        "HASH": "a#b",
        "OPEN": '"half',
    }


@pytest.mark.parametrize("line", ["no equals sign", "1X=2", "a b=c"])
def test_other_lines_are_refused_by_number(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        read_env(f"A=1\n{line}\n")
