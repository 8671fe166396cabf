"""The text of an HTML page, a line per block; load_web_page hands it to the model."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

_UNSEEN = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"}
)
# Void elements have no end tag, so they never open a block.
_BREAKS = frozenset({"br", "hr"})
_BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header html li main nav ol option p pre section summary table tbody "
    "tfoot thead title tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]+")
_TAG = re.compile(r"<[^>]*>")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w.:-]{1,40})""", re.IGNORECASE)


def decode(body: bytes, content_type: str) -> str:
    """Return a page's bytes as text, by the charset its header or its `meta` names, else UTF-8."""
    named = re.search(r"charset=[\"']?([\w.:-]{1,40})", content_type, re.IGNORECASE)
    found = _CHARSET.search(body[:4096])
    charset = named[1] if named else found[1].decode("ascii") if found else "utf-8"
    try:
        return body.decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):
        return body.decode("utf-8", "replace")


def page_text(html: str) -> str:
    """Return what a reader sees of a page: no scripts and styles, a line per block."""
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
        text = "".join(reader.pieces)
    except AssertionError:
        # The parser of the standard library gives up on some broken declarations.
        text = unescape(_TAG.sub(" ", html))
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    """Collects the text between tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen: list[str] = []
        self._is_kept = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen.append(tag)
        if self._unseen:
            return
        if tag in _BLOCKS or tag in _BREAKS:
            self.pieces.append("\n")
        elif tag in _CELLS:
            self.pieces.append(" ")
        self._is_kept += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and (tag in _BLOCKS or tag in _BREAKS):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            while tag in self._unseen and self._unseen.pop() != tag:
                continue
            return
        if tag in _BLOCKS:
            self.pieces.append("\n")
        self._is_kept -= tag == "pre" and self._is_kept > 0

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data if self._is_kept else data.replace("\n", " "))
