"""The prose of the documents: its sentences, and what is wrong with them.

`python -m tests.docs.prose [page ...]` prints what it finds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.arch.wording import BANNED

ROOT = Path(__file__).resolve().parents[2]
MAX_WORDS = 40  # of one sentence
MAX_AVERAGE = 20  # words per sentence, over a page

# Phrases that a document avoids beyond those of the source, each with what to write.
BANNED_IN_DOCS: tuple[tuple[str, str], ...] = (
    (r"\bin order to\b", "to"),
    (r"\b(simply|obviously|of course|needless to say)\b", "nothing"),
    (r"\b(utili[sz]es?|utili[sz]ing)\b", "use"),
    (r"\bplease note\b|^note that\b", "the fact itself"),
    (r"\bleverag(e|es|ing)\b", "use"),
    (r"\b(seamless|seamlessly|robust|powerful|blazing)\b", "a figure or nothing"),
    (r"\ba number of\b", "several"),
    (r"\bdue to the fact that\b", "because"),
    (r"\b(is|are) able to\b", "can"),
    (r"\bat this point in time\b", "now"),
    (r"\b(we|our)\b", "Ostinato, or the user"),
    (r"\bmust needs|\bwhereof\b|\bthereof\b", "plain words"),
)
# Rules of the source that mean something else in prose.
_ALLOWED = (r"\bas (they are|it is)\b", "how .{1,40}")

_PATTERNS = [
    (re.compile(pattern, re.IGNORECASE), better)
    for pattern, better in (*BANNED, *BANNED_IN_DOCS)
    if not any(pattern.startswith((kept, rf"\b{kept}")) for kept in _ALLOWED)
]
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"^\s*(\||#|<!--|!\[|---|:::|=== |\[).*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<=[.!?:;])[\"'*)]*\s+")


def read_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page's prose; a name in code counts as one word."""
    text = _FENCE.sub("\n\n", text)
    text = _NOT_PROSE.sub("\n", text)
    text = _ITEM.sub("\n\n", text)
    for paragraph in re.split(r"\n\s*\n", text):
        words = _CODE.sub("NAME", _LINK.sub(r"\1", " ".join(paragraph.split())))
        for sentence in _END.split(words):
            if len(sentence.split()) > 2:
                yield sentence


def find_faults(text: str) -> list[str]:
    """Return what is wrong with a page's prose, each with its remedy."""
    sentences = list(read_sentences(text))
    found = [
        f"{len(sentence.split())} words, at most {MAX_WORDS}: {sentence[:90]} ..."
        for sentence in sentences
        if len(sentence.split()) > MAX_WORDS
    ]
    for sentence in sentences:
        for pattern, better in _PATTERNS:
            if match := pattern.search(sentence):
                found.append(f"{match[0]!r}: write {better!r}: {sentence[:90]}")
    words = sum(len(sentence.split()) for sentence in sentences)
    if len(sentences) > 5 and words > MAX_AVERAGE * len(sentences):
        average = words / len(sentences)
        found.append(f"{average:.1f} words per sentence on average, at most {MAX_AVERAGE}")
    return found


def find_pages() -> list[Path]:
    """Return the pages whose prose is checked; the decisions are records and are not edited."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [page for page in pages if "decisions" not in page.parts]


def main(names: list[str]) -> int:
    """Print what is found."""
    count = 0
    for page in [Path(name) for name in names] or find_pages():
        for fault in find_faults(page.read_text(encoding="utf-8")):
            count += 1
            print(f"{page}: {fault}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
