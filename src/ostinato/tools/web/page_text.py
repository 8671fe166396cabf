"""The text of an HTML page, a line per block; load_web_page hands it to the model.

The standard library's parser is quadratic on some broken pages, so this one reads each character a
constant number of times: an unclosed tag or comment extends to the end of the page, as in browsers.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from html import unescape

_UNSEEN = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"}
)
# Their content is no markup.
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII)
    for name in ("script", "style")
}
# Void elements have no end tag, so they never open a block.
_BREAKS = frozenset({"br", "hr"})
_BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header html li main nav ol option p pre section summary table tbody "
    "tfoot thead title tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]+")
_MARKUP = re.compile(r"<(?:(!--)|([!?])|(/?)([a-zA-Z][^\s/>]*+))")
_COMMENT_END = re.compile(r"--!?>")
_TAG_STOP = re.compile(r"[>=]")
_QUOTE = re.compile(r"\s*+([\"'])?")
# More digits than any character has; Python refuses to read very long numbers.
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{8,}+|[xX][0-9a-fA-F]{8,}+);?")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Codecs that are no charsets of pages; reading the first two takes quadratic time.
_NO_CHARSETS = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"})


def decode(body: bytes, content_type: str) -> str:
    """Return a page's bytes as text, by the charset its header or its `meta` names, else UTF-8."""
    named = re.search(r"charset=[\"']?([\w.:-]{1,40})", content_type, re.IGNORECASE | re.ASCII)
    found = _CHARSET.search(body[:4096])
    charset = named[1] if named else found[1].decode("ascii") if found else "utf-8"
    try:
        if codecs.lookup(charset).name.replace("-", "_") not in _NO_CHARSETS:
            return body.decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):
        pass  # it names no charset
    return body.decode("utf-8", "replace")


def page_text(html: str) -> str:
    """Return what a reader sees of a page: no scripts and styles, a line per block.

    It takes time in proportion to the length of the page, whatever the page holds.
    """
    reader = _Reader(html)
    text = "".join(reader.read())
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader:
    """Collects the text between the tags of a page.

    Args:
      html: the page.
    """

    def __init__(self, html: str) -> None:
        self._html = html
        self._pieces: list[str] = []
        self._unseen: list[str] = []
        self._open = Counter[str]()  # how often each name stands in `_unseen`
        self._pre = 0

    def read(self) -> list[str]:
        """Return the pieces of the text; once only."""
        at = 0
        while (markup := _MARKUP.search(self._html, at)) is not None:
            self._add_text(at, markup.start())
            at = self._skip(markup)
        self._add_text(at, len(self._html))
        return self._pieces

    def _skip(self, markup: re.Match[str]) -> int:
        """Take in a comment, declaration or tag, and return where it ends."""
        html, end = self._html, markup.end()
        if markup[1]:
            comment = _COMMENT_END.search(html, markup.start() + 2)
            return comment.end() if comment else len(html)
        if markup[2]:
            return html.find(">", end) + 1 or len(html)
        after = self._tag_end(end)
        name = markup[4].lower()
        if markup[3]:
            self._end(name)
        elif html[after - 2 : after] == "/>":
            self._add_empty(name)
        else:
            self._start(name)
            if name in _RAW:
                closing = _RAW[name].search(html, after)
                return closing.start() if closing else len(html)
        return after

    def _tag_end(self, at: int) -> int:
        """Return the position behind the `>` of a tag; one in a quoted value does not count."""
        html = self._html
        while (stop := _TAG_STOP.search(html, at)) is not None:
            if stop[0] == ">":
                return stop.end()
            value = _QUOTE.match(html, stop.end())
            assert value is not None  # it matches the empty string
            at = value.end()
            if value[1]:
                closing = html.find(value[1], at)
                if closing < 0:
                    break
                at = closing + 1
        return len(html)

    def _start(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen.append(tag)
            self._open[tag] += 1
        if self._unseen:
            return
        if tag in _BLOCKS or tag in _BREAKS:
            self._pieces.append("\n")
        elif tag in _CELLS:
            self._pieces.append(" ")
        self._pre += tag == "pre"

    def _add_empty(self, tag: str) -> None:
        if not self._unseen and (tag in _BLOCKS or tag in _BREAKS):
            self._pieces.append("\n")

    def _end(self, tag: str) -> None:
        if self._unseen:
            while self._open[tag]:
                closed = self._unseen.pop()
                self._open[closed] -= 1
                if closed == tag:
                    break
            return
        if tag in _BLOCKS:
            self._pieces.append("\n")
        self._pre -= tag == "pre" and self._pre > 0

    def _add_text(self, start: int, end: int) -> None:
        if self._unseen or start == end:
            return
        text = unescape(_LONG_REFERENCE.sub("\ufffd", self._html[start:end]))
        self._pieces.append(text if self._pre else text.replace("\n", " "))
