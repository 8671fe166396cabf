"""Checks of the source's wording: banned phrases and function names (`test_wording.py`).

`python -m tests.arch.wording [folder ...]` prints what it finds in folders of `src/ostinato`, and
the share of one-word function names.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.syntax import parse, walk

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"

# Each pattern, in lower case from the start of a word, with what to write in its place.
BANNED: tuple[tuple[str, str], ...] = (
    (r"\btells? whether\b", "Return whether"),
    (r"\bnone where\b", "or None if"),
    (r"\bwhat became of\b", "the outcome of"),
    (r"\bas (they are|it is)\b(?! (not|true))", "unchanged"),
    (r"\bto be had\b", "available"),
    (r"\b(goes|go|going|gone|went) on with\b", "resume, continue"),
    (r"\bgo(es|ing)? on\b", "continue"),
    (r"\b(nobody|somebody|whoever|whosoever)\b", "no caller, another process, the caller"),
    (r"\b(somebody|someone) else\b", "another process"),
    (r"\bleft behind\b", "abandoned"),
    (r"\bunattended\b", "detached"),
    (r"\bin our words\b", "as our own error"),
    (r"\bat hand\b", "available, checked out"),
    (r"\ball the same\b", "anyway"),
    (r"\bpasses? (it|them) by\b", "skips it"),
    (r"\bsee(s|n)? through\b", "run to its end"),
    (r"\bdoors?\b(?! open)", "interface, entry point"),
    (r"\bhow .{1,40} is\. ", "a noun phrase"),
    (r"\bit is no\b", "it is not a"),
    (r"\b(?-i:is none)\b", "is not one"),
    (r"\bof ours\b", "Ostinato's"),
    (r"\bcame to nothing\b", "failed"),
    (r"\bwhat is told\b", "what is reported"),
    (r"\bof its own accord\b", "by itself"),
    (r"\b(thereby|therein|whereupon|whereby|hitherto)\b", "plain words"),
)

_WORD_START = r"\b"
_BANNED = [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in BANNED]
# One search of a lowered text for them all takes a twentieth of the time; "is None" is allowed.
_WITH_CASE = [(pattern, better) for pattern, better in _BANNED if "(?-i:" in pattern.pattern]
_ANY_OTHER = re.compile(
    rf"(?<!\w)(?:{'|'.join(p.removeprefix(_WORD_START) for p, _ in BANNED if '(?-i:' not in p)})"
)
# Past participles that stand alone as the name of a function.
_PARTICIPLE = re.compile(r"_*([a-z]+ed|said|told|found|known|given|taken|made|held|kept|left|sent)")
_NOT_PARTICIPLES = frozenset(
    {"feed", "need", "speed", "embed", "proceed", "seed", "shed", "exceed"}
)


def find_banned_phrases(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the phrase and the remedy of each banned phrase of a file."""
    text = path.read_text(encoding="utf-8")
    for pattern, better in _BANNED if _ANY_OTHER.search(text.lower()) else _WITH_CASE:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[0], better


class NamedFunction(NamedTuple):
    """A function's name and the line that defines it."""

    name: str
    lineno: int


def read_functions(path: Path) -> tuple[NamedFunction, ...]:
    """Return the functions and methods of a file, except dunder methods and properties."""
    return _find_functions(path.read_text(encoding="utf-8"))


@functools.cache
def _find_functions(source: str) -> tuple[NamedFunction, ...]:
    found: list[NamedFunction] = []
    for node in walk(parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = " ".join(ast.unparse(each) for each in node.decorator_list)
        is_property = re.search(r"property|\.setter|\.getter|overload", decorators)
        if not is_property and not (node.name.startswith("__") and node.name.endswith("__")):
            found.append(NamedFunction(node.name, node.lineno))
    return tuple(found)


def is_one_word(name: str) -> bool:
    """Return whether a function's name has one word only."""
    return "_" not in name.strip("_")


def is_participle(name: str) -> bool:
    """Return whether a function's name is a past participle alone."""
    return _PARTICIPLE.fullmatch(name) is not None and name.strip("_") not in _NOT_PARTICIPLES


def main(folders: list[str]) -> None:
    """Print what is found in folders of the source, or in all of it."""
    roots = [SOURCE / folder for folder in folders] or [SOURCE]
    files = sorted(
        {file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))}
    )
    phrases = functions = single = participles = 0
    for file in files:
        for line, phrase, better in find_banned_phrases(file):
            phrases += 1
            print(f"{file.relative_to(SOURCE)}:{line}: {phrase!r}: write {better!r}")
        for node in read_functions(file):
            functions += 1
            single += is_one_word(node.name)
            if is_participle(node.name):
                participles += 1
                print(f"{file.relative_to(SOURCE)}:{node.lineno}: {node.name}: name what it does")
    print(f"{phrases} phrases, {participles} participles, {functions} functions,", end=" ")
    print(f"{100 * single / max(functions, 1):.0f} % with a name of one word")


if __name__ == "__main__":
    main(sys.argv[1:])
