"""The text of pages: what is seen, where lines end, broken pages, charsets."""

import subprocess
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.tools.web import page_text as _page_text
from ostinato.tools.web.page_text import decode, page_text

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A</h1><p>b <i>c</i></p>d", "A\nb c\nd"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<tr><td>a</td><td>b</td></tr>", "a b"),
        ("a\n  b\u00a0 c", "a b c"),
        ("<pre>a\n b</pre>", "a\nb"),
        ("a<script>if (a < b) {}</script>b", "ab"),
        ("a<style>p{}</style><noscript>no</noscript><template><p>x</p></template>b", "ab"),
        ("<svg><title>icon</title></svg>a", "a"),
        ("&lt;p&gt; &amp; &eacute;", "<p> & é"),
        ("<!-- secret -->a", "a"),
        ("a < b", "a < b"),
        ("<!-->a", "a"),
        ("<!-- > -- --!>a", "a"),
        ("a<!-- never closed", "a"),
        ("<?php echo 1 ?>a</1>b", "a</1>b"),
        ("<a title=\"x > y\" href='>'>b</a>", "b"),
        ("<p class=it's>a</p>b", "a\nb"),
        ("<a href=/x?y=z>b</a>", "b"),
        ("a<SCRIPT>'</b>'</Script >b", "ab"),
        ("a<script>never closed", "a"),
        ("a<b", "a"),
        ("a<svg><math></svg>b</math>c", "abc"),
        ("&#65;&#x42;&#99999999999;&#xfffffffff;.", "AB\ufffd\ufffd."),
        ("&#" + "1" * 6_000 + ";a", "\ufffda"),
        ("", ""),
    ],
)
def test_what_is_seen(html: str, text: str) -> None:
    assert page_text(html) == text


def test_a_broken_declaration_loses_no_text() -> None:
    text = page_text("before<![foo[ x ]]><p>after")
    assert text.startswith("before") and text.endswith("after")


SIZES = (4_096, 16_384, 65_536, 524_288)
ADVERSARIES = {
    "open tags": "<a ",
    "open ends": "</a ",
    "less than": "<",
    "comments": "<!--",
    "short comments": "<!-",
    "sections": "<![CDATA[",
    "declarations": "<!a ",
    "instructions": "<?a ",
    "ampersands": "&",
    "references": "&#1",
    "digits": "1",
    "scripts": "<script>",
    "script ends": "</script",
    "styles": "<style>a",
    "deep nesting": "<div>",
    "unseen nesting": "<svg>",
    "ends that never began": "<svg></math>",
    "attributes": "<a b='",
    "values": "<a b=\"c' ",
    "equal signs": "=",
    "blank values": "= ",
    "cells": "<td>",
    "entities": "&amp",
    "blanks": " ",
    "lines": "\n",
}


def steps(html: str) -> int:
    """Return how many lines of the reader run, calls of the regular expressions apart."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == _page_text.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        page_text(html)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("piece", ADVERSARIES.values(), ids=ADVERSARIES)
@pytest.mark.parametrize("lead", ["", "<a ", "<svg>"])
def test_work_grows_no_faster_than_the_page(piece: str, lead: str) -> None:
    small, large = (steps((lead + piece * size)[:size]) for size in (4_096, 16_384))
    assert large <= 4.5 * small + 100


HOSTILE_PAGES = """\
import resource
import sys
from ostinato.tools.web import page_text as _page_text
from ostinato.tools.web.page_text import page_text
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for lead in ("", "<a b=", "<svg>"):
    for piece in sys.argv[2:]:
        for size in map(int, sys.argv[1].split(",")):
            page_text((lead + piece * (size // len(piece) + 1))[:size])
print("read")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="bounds CPU time by a limit of POSIX")
def test_hostile_pages_take_little_time() -> None:
    """A quadratic reader needs hours for these; the kernel ends it after a minute of CPU time."""
    words = [",".join(map(str, SIZES)), *ADVERSARIES.values()]
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE_PAGES, *words], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("read\n", "")


@given(st.text(alphabet="<>/!-[]\"'= abp&;#script"))
def test_no_page_breaks_it(html: str) -> None:
    for line in page_text(html).split("\n"):
        assert line == line.strip()


def test_charsets() -> None:
    assert decode("é".encode("latin-1"), "text/html; charset=ISO-8859-1") == "é"
    assert decode('<meta charset="latin-1">é'.encode("latin-1"), "text/html").endswith("é")
    assert decode("é".encode(), "text/html") == "é"
    assert decode("é".encode(), "text/html; charset=no-such") == "é"
    assert decode(b"\xff", "text/html") == "\ufffd"


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "undefined", "hex", "aliases", "rot13", "."]
)
def test_codecs_that_are_no_charsets(charset: str) -> None:
    assert decode(b"a\\u0041-b", f"text/html; charset={charset}") == "a\\u0041-b"
