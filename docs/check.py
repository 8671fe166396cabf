"""Checks the documents: relative links lead to files (and headings) that exist, what stands in
code quotes as a path or as a dotted name of the package exists too, and tables tell the length of
files as it is, within a tenth. Run by `make docs`."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.site.reference_pages import FACES  # noqa: E402

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:src|tests|docs|bench|examples)/[\w./-]*")
NAME = re.compile(r"ostinato(?:\.\w+)+")
# The pages of the reference, which the build of the site makes from docstrings. Links to them lead
# nowhere in a checkout; CONTRIBUTING.md says so, and few pages have one.
GENERATED = frozenset(
    ["index", "command-line", "other-modules", *(face.removeprefix("ostinato.") for face in FACES)]
)
LENGTH = re.compile(r"^\| \[[^\]]*\]\(([^)\s]+\.py)\) \| (\d+) \|", re.MULTILINE)
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)


def documents() -> list[Path]:
    """The Markdown files of the project, without environments and caches."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")]
    return sorted([*found, *ROOT.glob("examples/**/*.md")])


def anchors(path: Path) -> set[str]:
    """The anchors that a page's headings make."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def broken_links(path: Path, text: str) -> list[str]:
    """Relative links that lead nowhere."""
    found = []
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if is_generated(target):
            continue
        if not target.exists():
            found.append(f"the link {link} leads nowhere")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append(f"the link {link} names no heading of {target.name}")
    return found


def stale_lengths(path: Path, text: str) -> list[str]:
    """Rows of a table of files that tell another number of lines than the file has."""
    found = []
    for file, told in LENGTH.findall(text):
        target = path.parent / file
        lines = len(target.read_text(encoding="utf-8").splitlines()) if target.exists() else 0
        if abs(lines - int(told)) > lines / 10:
            found.append(f"{target.name} has {lines} lines, not {told}")
    return found


def is_generated(target: Path) -> bool:
    """Return whether the site's build makes this page (`docs/site/reference_pages.py`)."""
    if target.parent != ROOT / "docs" / "reference":
        return False
    return target.stem in GENERATED


def missing_code(text: str) -> list[str]:
    """Paths and dotted names in code quotes that do not exist."""
    found = []
    for quoted in CODE.findall(FENCE.sub("", text)):
        if PATH.fullmatch(quoted) and not (ROOT / quoted).exists():
            found.append(f"the path `{quoted}` does not exist")
        elif NAME.fullmatch(quoted) and not resolves(quoted):
            found.append(f"the name `{quoted}` does not exist")
    return found


def resolves(name: str) -> bool:
    """True if a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for attribute in parts[length:]:
                value = getattr(value, attribute)
        except AttributeError:
            return False
        return True
    return False


def main() -> int:
    """Print what is broken; the exit code is 1 if something is."""
    problems: list[str] = []
    pages = documents()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT)
        faults = broken_links(path, text) + missing_code(text) + stale_lengths(path, text)
        problems += [f"{where}: {it}" for it in faults]
    print("\n".join([*problems, f"{len(pages)} documents checked, {len(problems)} problem(s)"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
