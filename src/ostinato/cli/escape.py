"""JSON and text for a terminal, with every hidden character as a JSON escape.

Control characters, separators, direction marks and characters without a glyph are escaped, so that
a person sees exactly what a program reads.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Me", "Zl", "Zp", "Zs"))
_MARKS = 2  # combining marks that one letter may carry; more reach into the lines around it

# Letters and marks that are drawn as nothing or as a blank, whatever their category.
_BLANK = frozenset(
    map(
        chr,
        (
            0x034F,  # combining grapheme joiner
            *(0x115F, 0x1160, 0x3164, 0xFFA0),  # Hangul fillers
            *(0x17B4, 0x17B5),  # Khmer inherent vowels
            *(0x180B, 0x180C, 0x180D, 0x180F),  # Mongolian variation selectors
            0x2800,  # blank Braille pattern
            *range(0xFE00, 0xFE10),  # variation selectors
            0x16FE4,  # Khitan filler
            0x1D159,  # null notehead
            *range(0xE0100, 0xE01F0),  # variation selectors supplement
        ),
    )
)
_EMOJI = 0x1F000  # from here on a character may take two cells
_NAME = re.compile(r"[A-Za-z0-9_./~][A-Za-z0-9_./~-]*(:[A-Za-z0-9_./~-]+)?")


def reveal(text: str, keep: str = "") -> str:
    """Return a text with its hidden characters as JSON escapes.

    Args:
      text: any text, lone surrogates included.
      keep: characters that are not escaped, such as a newline.
    """
    if text.isascii() and text.isprintable():
        return text
    found: list[str] = []
    base, marks = False, 0  # whether a letter precedes, and how many marks it carries
    escape = 0  # characters of a JSON escape that are still to come; they carry no marks
    for character in text:
        if character == "\\" or (escape and " " < character < "\x7f"):
            escape = _rest_of_escape(character, escape)
            base, marks = False, 0
            found.append(character)
            continue
        escape = 0
        if character == " " or character in keep:
            base, marks = False, 0
            found.append(character)
            continue
        category = unicodedata.category(character)
        hidden = category in _HIDDEN_CATEGORIES or character in _BLANK
        if category == "Mn" and not hidden:
            marks += 1
            hidden = not base or marks > _MARKS
        elif hidden:
            base = False
        else:
            base, marks = category[0] in "LNM" and _cells_of(character) == 1, 0
        found.append(json.dumps(character)[1:-1] if hidden else character)
    return "".join(found).replace("\x7f", "\\u007f")


def _rest_of_escape(character: str, escape: int) -> int:
    """Return how many characters of a JSON escape follow a character of it."""
    if not escape:
        return 1
    return 4 if character == "u" and escape == 1 else escape - 1


def exact_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON without hidden characters; what JSON cannot hold, as its repr."""
    keep = "\n" if indent is not None else ""
    return reveal(json.dumps(value, ensure_ascii=False, default=repr, indent=indent), keep)


def label(name: str) -> str:
    """Return a name: unchanged if it is a plain word or path, otherwise as JSON."""
    return name if _NAME.fullmatch(name) else exact_json(name)


def cells(text: str) -> int:
    """Return the cells that a text takes at most, whatever terminal shows it.

    Terminals disagree on emoji, flags and ambiguous characters, so each counts as its widest.
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    wide = ord(character) >= _EMOJI or unicodedata.east_asian_width(character) in "WFA"
    return 2 if wide and character != "…" else 1


def shorten(text: str, room: int) -> str:
    """Return a text in at most `room` cells; a cut text ends with its full length."""
    if cells(text) <= room:
        return text
    tail = f"… ({len(text):,} characters)"
    return take_cells(text, max(room - cells(tail), 1)) + tail


def take_cells(text: str, room: int) -> str:
    """Return the beginning of a text that fits into `room` cells."""
    end = used = 0
    for end, character in enumerate(text):
        used += cells(character)
        if used > room:
            return text[:end]
    return text[: end + 1]


def fold(text: str, room: int, most: int | None = None) -> tuple[list[str], int]:
    """Break a text without newlines into lines.

    Args:
      text: the text.
      room: cells of a line.
      most: lines to keep; None keeps all.

    Returns:
      The lines, and the number of characters that were cut.
    """
    lines: list[str] = []
    rest = text
    while rest and (most is None or len(lines) < most):
        line = take_cells(rest, room) or rest[0]
        lines.append(line)
        rest = rest[len(line) :]
    return lines or [""], len(rest)
