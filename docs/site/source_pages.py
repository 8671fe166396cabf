"""Pages that the site makes of other files: those that the documents link to outside of `docs`."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<mark>```+).*?^(?P=mark)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\])\((?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json", ".csv": "text"}


def find_outside_links(text: str, folder: str) -> dict[str, str]:
    """Return the links of a page that leave `docs`, each with its path from the root.

    Args:
      text: the page's Markdown.
      folder: the page's folder below `docs`; empty for the top.
    """
    found: dict[str, str] = {}
    for match in _LINK.finditer(_FENCE.sub("", text)):
        path = match["path"]
        if re.match(r"[a-z]+:", path):
            continue
        place = posixpath.normpath(posixpath.join("docs", folder, path))
        if not place.startswith("docs/") and (ROOT / place).exists():
            found[path] = place
    return found


def page_of(place: str) -> str:
    """Return the page below `docs` that shows a file or folder of the repository."""
    return f"source/{place}.md" if not place.endswith(".md") else f"source/{place}"


def rewrite_links(text: str, folder: str) -> str:
    """Return a page whose links to other files lead to the pages that show them."""
    outside = find_outside_links(text, folder)

    def rewrite(match: re.Match[str]) -> str:
        place = outside.get(match["path"])
        if place is None:
            return match[0]
        return f"({posixpath.relpath(page_of(place), folder or '.')}{match['anchor'] or ''})"

    return _LINK.sub(rewrite, text) if outside else text


def make_page(place: str) -> str:
    """Return the Markdown of the page that shows a file or folder."""
    path = ROOT / place
    head = f"---\nsearch:\n  exclude: true\n---\n# {place}\n\n"
    if path.is_dir():
        readme = path / "README.md"
        files = sorted(file for file in path.rglob("*.py") if "__pycache__" not in file.parts)
        text = readme.read_text(encoding="utf-8") if readme.exists() else ""
        text = re.sub(r"^# .*\n", "", text)
        for file in files[:12]:
            text += f"\n## {file.relative_to(path)}\n\n{_fence(file)}"
        return head + _strip_links(text)
    if path.suffix == ".md":
        return head + _strip_links(re.sub(r"^# .*\n", "", path.read_text(encoding="utf-8")))
    return head + _fence(path)


def _fence(path: Path) -> str:
    language = _LANGUAGES.get(path.suffix, "text")
    return f"````{language}\n{path.read_text(encoding='utf-8')}\n````\n"


def _strip_links(text: str) -> str:
    """Return a text without its relative links; only its words remain."""
    return re.sub(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", text)
