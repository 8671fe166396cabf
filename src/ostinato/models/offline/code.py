"""Code: a small program over a CSV file, for agents whose instruction asks for Python code."""

from __future__ import annotations

import re

from .facts import Facts
from .reading import Reading
from .words import stems

_FENCE = re.compile(r"```(tool_code|python)\b")
_ASKS = re.compile(r"\b(?:write|run|execute)\w*\b[^.\n]{0,60}\bpython\b", re.IGNORECASE)
_FILE = re.compile(r"[\"'`]([^\"'`\n]+\.csv)[\"'`]|(\S+\.csv)\b")

_PROGRAM = """\
import csv

words = {words}
with open({path!r}, newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
columns = list(rows[0]) if rows else []


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def asked(column):
    name = column.lower().replace("_", " ")
    return any(word in name for word in words)


numeric = [c for c in columns if all(number(row[c]) is not None for row in rows)]
values = [c for c in numeric if asked(c)] or numeric[-1:]
groups = [c for c in columns if c not in numeric and asked(c)]
print(len(rows), "rows with", ", ".join(columns))
for value in values:
    figures = [number(row[value]) for row in rows]
    total, mean = sum(figures), sum(figures) / len(figures)
    low, high = min(figures), max(figures)
    print(f"{{value}}: total {{total:g}}, mean {{mean:g}}, from {{low:g}} to {{high:g}}")
    for group in groups:
        sums = {{}}
        for row in rows:
            sums[row[group]] = sums.get(row[group], 0) + number(row[value])
        ranked = sorted(sums.items(), key=lambda item: -item[1])
        print(f"{{value}} by {{group}}:", ", ".join(f"{{k}} {{v:g}}" for k, v in ranked))"""


def wants_code(reading: Reading) -> bool:
    """Whether the instruction asks for Python code, as that of an agent with an executor does."""
    return bool(_FENCE.search(reading.instruction) or _ASKS.search(reading.instruction))


def code_for(reading: Reading) -> str:
    """Return a text with one block of code; empty where there is nothing to compute."""
    file = _FILE.search(reading.message) or _FILE.search(reading.instruction)
    if file is not None:
        path = file[1] or file[2]
        program = _PROGRAM.format(words=sorted(set(stems(reading.message))), path=path)
        return f"I will compute that from the file.\n{_block(reading, program)}"
    sums = Facts(reading.message).sums
    if sums:
        expression = sums[0].text.strip().replace("^", "**")
        return f"I will compute that.\n{_block(reading, f'print({expression})')}"
    return ""


def _block(reading: Reading, program: str) -> str:
    fence = _FENCE.search(reading.instruction)
    return f"```{fence[1] if fence else 'tool_code'}\n{program}\n```"


def from_output(output: str) -> str:
    """Return what code printed, as an answer."""
    text = re.sub(r"^Code execution result:\s*", "", output.strip())
    if not text:
        return "The code ran and printed nothing."
    if "Traceback (most recent call last)" in text:
        return f"The code failed: {text.splitlines()[-1]}"
    return f"Here is what the numbers say.\n{text}"
