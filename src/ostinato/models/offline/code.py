"""A Python program over a CSV file, for agents whose instruction asks for code."""

from __future__ import annotations

import re

from .request_view import RequestView
from .words import find_stems

_FENCE = re.compile(r"```(tool_code|python)\b")
_FILE = re.compile(r"[\"'`]([^\"'`\n]{1,400}\.csv)[\"'`]")
_PROGRAM = """\
import csv

words = {words}
with open({path!r}, newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))


def is_number(text):
    return text.lstrip("-").replace(".", "", 1).isdigit()


columns = list(rows[0]) if rows else []
numeric = [c for c in columns if all(is_number(row[c]) for row in rows)]
asked = [c for c in columns if any(word in c.lower() for word in words)]
print(len(rows), "rows with", ", ".join(columns))
for value in [c for c in numeric if c in asked] or numeric[-1:]:
    print(value, "in total:", f"{{sum(float(row[value]) for row in rows):g}}")
    for group in [c for c in asked if c not in numeric]:
        sums = {{}}
        for row in rows:
            sums[row[group]] = sums.get(row[group], 0) + float(row[value])
        ranked = sorted(sums.items(), key=lambda item: -item[1])
        print(f"{{value}} by {{group}}:", ", ".join(f"{{k}} {{v:g}}" for k, v in ranked))"""


def write_code(view: RequestView) -> str:
    """Return a text with a block of code, or an empty text if none is asked for."""
    fence, file = _FENCE.search(view.instruction), _FILE.search(view.instruction)
    if fence is None or file is None:
        return ""
    program = _PROGRAM.format(words=sorted(set(find_stems(view.message))), path=file[1])
    return f"I will compute that from the file.\n```{fence[1]}\n{program}\n```"


def tell_output(output: str) -> str:
    """Return the output of executed code as an answer."""
    text = output.strip().removeprefix("Code execution result:").strip()
    if "Traceback (most recent call last)" in text:
        return f"The code failed: {text.splitlines()[-1]}"
    return f"Here is what the numbers say.\n{text}" if text else "The code printed nothing."
