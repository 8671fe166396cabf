"""Names and texts of others in Markdown and HTML reports: nothing of them is markup or hidden."""

from __future__ import annotations

import html
import re

# Control characters but tab and newline, direction marks, what has no width, no characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_BACKTICKS = re.compile("`+")


def reveal(text: str) -> str:
    r"""Return a text whose hidden characters are escapes, such as `\u202e`.

    Args:
      text: any text, lone surrogates included.
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def escape_html(text: str) -> str:
    """Return a text for HTML.

    Args:
      text: any text.
    """
    return html.escape(reveal(text))


def quote(text: str, most: int | None = None) -> str:
    """Return a text as one line of code for Markdown: no character of it has a meaning there.

    Args:
      text: any text.
      most: characters to show; None for all.
    """
    line = " ".join(reveal(text).split())
    if most is not None and len(line) > most:
        line = f"{line[: most - 1]}…"
    if not line:
        return ""
    ticks = "`" * (_longest_backticks(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def quote_cell(text: str, most: int | None = None) -> str:
    """Return a text as code for a cell of a table in Markdown.

    Args:
      text: any text.
      most: characters to show; None for all.
    """
    # A table reads a backslash before the escape of a bar as its own escape.
    text = re.sub(r"(?<!\\)\\+(?=\|)", lambda found: found[0].replace("\\", "\\u005c"), text)
    return quote(text, most).replace("|", "\\|")


def fence(text: str, language: str) -> list[str]:
    """Return the lines of a block of code for Markdown that the text cannot end.

    Args:
      text: any text.
      language: what it is, such as diff.
    """
    ticks = "`" * max(3, _longest_backticks(text) + 1)
    return [f"{ticks}{language}", *reveal(text).split("\n"), ticks]


def _longest_backticks(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
