"""The text of pages: what is seen, where lines end, broken pages, charsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.tools._page_text import decode, page_text


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
        ("", ""),
    ],
)
def test_what_is_seen(html: str, text: str) -> None:
    assert page_text(html) == text


def test_a_broken_declaration_loses_no_text() -> None:
    text = page_text("before<![foo[ x ]]><p>after")
    assert text.startswith("before") and text.endswith("after")


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
