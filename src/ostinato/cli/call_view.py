"""Bounded view of a call that a person decides on, shown right above the prompt."""

from __future__ import annotations

from ..events.pending import Pending
from ..events.tool_origin import ToolOrigin
from .escape import cells, exact_json, fold, label, reveal, shorten, take_cells

Line = tuple[str | tuple[str, str], ...]

_VALUE_LINES = 12  # of all arguments together
_LONGEST_VALUE = 4  # lines of one argument
SAID_LINES = 3  # of the hint, and of the payload
_KEY_WIDTH = 30
_NAME_WIDTH = 48


def call_name(one: Pending) -> str:
    """Return the tool's name on one line."""
    return shorten(label(one.tool), _NAME_WIDTH)


def title_of(one: Pending) -> str:
    """Return the source of a waiting call: the asker of a question, or the tool."""
    if one.kind == "input" and one.asker:
        return shorten(label(one.asker), _NAME_WIDTH)
    return call_name(one)


def said_lines(title: str, text: str, width: int, *, whole: bool = False) -> list[Line]:
    """Return the lines of a text that accompanies the call, such as a hint.

    Args:
      title: what it is.
      text: the text, without hidden characters.
      width: cells of a line.
      whole: show all of it.
    """
    start = f"    {title}  "
    lines, cut = fold(text, max(width - len(start), 20), None if whole else SAID_LINES)
    found: list[Line] = [
        ((start if not number else " " * len(start), "dim"), line)
        for number, line in enumerate(lines)
    ]
    if cut:
        found.append(((f"    … {cut:,} more characters of {len(text):,}", "yellow"),))
    return found


def call_lines(one: Pending, width: int, *, whole: bool = False) -> tuple[list[Line], bool]:
    """Return the lines that show a call: its tool, each argument, and its length.

    Args:
      one: the call.
      width: cells of a line.
      whole: show all of it, in as many lines as it takes.

    Returns:
      The lines, and whether something was left out; the last lines then name what.
    """
    items = list(one.args.items())
    origin = origin_line(one, width)
    kept = items if whole else items[:_VALUE_LINES]
    most = None if whole else min(max(_VALUE_LINES // max(len(kept), 1), 1), _LONGEST_VALUE)
    names = [label(key) if whole else shorten(label(key), _KEY_WIDTH) for key, _ in kept]
    column = min(max(map(cells, names), default=0), _KEY_WIDTH)
    room = max(width - column - 6, 20)
    count = f"{len(items)} argument{'' if len(items) == 1 else 's'}"
    length = f"{len(exact_json(one.args)):,} characters of JSON"
    size = f", {count}, {length}"
    name_room = max(width - len("  Call ") - len(size), _KEY_WIDTH)
    title = shorten(label(one.tool), min(name_room, _NAME_WIDTH))
    lines: list[Line] = [(("  Call ", "dim"), (title, "bold"), (size, "dim"))]
    lines += [origin] if origin else []
    cut_names: list[str] = []
    for name, (_, value) in zip(names, kept, strict=True):
        shown, cut = _value_lines(exact_json(value), room, most)
        if cut:
            cut_names.append(name)
        if whole and cells(name) > column:
            lines += [((f"    {line}", "dim"),) for line in fold(name, width - 4)[0]]
            name = ""
        for number, line in enumerate(shown):
            start = "" if number else name
            space = " " * (column - cells(start) + 2)
            lines.append(((f"    {start}{space}", "dim"), line))
    hidden = [shorten(label(key), _KEY_WIDTH) for key, _ in items[len(kept) :]]
    if hidden:
        start = f"    … {len(hidden)} more arguments: "
        lines.append(((start + _join_names(hidden, width - cells(start)), "yellow"),))
    if cut_names:
        start = "    … cut short: "
        lines.append(((start + _join_names(cut_names, width - cells(start)), "yellow"),))
    return lines, bool(cut_names or hidden)


def origin_text(origin: ToolOrigin) -> str:
    """Return where a tool comes from, without hidden characters, such as `MCP server files`."""
    return reveal(origin.source_text)


def origin_line(one: Pending, width: int) -> Line | None:
    """Return the line that says where a call's tool comes from, or None for a function."""
    if one.origin is None or not one.origin.source_text:
        return None
    pieces = [origin_text(one.origin)]
    if one.origin.operation not in ("", one.tool):
        pieces.append(reveal(one.origin.operation))
    policy = "" if one.origin.policy == "ask" else f" ({one.origin.policy_text})"
    text = shorten(", ".join(pieces), max(width - len("  From ") - len(policy), _KEY_WIDTH))
    return (("  From ", "dim"), (text, "yellow"), (policy, "dim"))


def _value_lines(text: str, room: int, most: int | None) -> tuple[list[str], bool]:
    """Return the lines of a value and whether it was cut; the last line says by how much."""
    lines, cut = fold(text, room, most)
    if not cut:
        return lines, False
    space = room - len(f"… {len(text):,} more of {len(text):,}")
    last = take_cells(lines[-1], max(space, 1))
    hidden = cut + len(lines[-1]) - len(last)
    return [*lines[:-1], f"{last}… {hidden:,} more of {len(text):,}"], True


def _join_names(names: list[str], room: int) -> str:
    """Return names in a row, as many as fit."""
    found = names[0]
    for name in names[1:]:
        if cells(found) + cells(name) + len(", , …") > room:
            return f"{found}, …"
        found += f", {name}"
    return found
