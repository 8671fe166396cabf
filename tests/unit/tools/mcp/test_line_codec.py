"""The output of a stdio server is handed over in whole lines, in linear time."""

from __future__ import annotations

import codecs

import pytest

from ostinato.tools.mcp import line_codec
from ostinato.tools.mcp.line_codec import NAME, OPTIONS, LineOptions


def make_decoder(reasons: list[str], encoding: str = "utf-8") -> codecs.IncrementalDecoder:
    OPTIONS.set(LineOptions(encoding, reasons.append))
    return codecs.getincrementaldecoder(NAME)("replace")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "latin-1"])
def test_lines_come_whole_in_whatever_pieces(encoding: str):
    decoder = make_decoder([], encoding)
    body = "a\nb\xe9\n\nc\n".encode(encoding)
    pieces = [decoder.decode(body[n : n + 1]) for n in range(len(body))]
    assert [piece for piece in pieces if piece] == ["a\n", "b\xe9\n", "\n", "c\n"]
    assert decoder.decode("d\ne\nf".encode(encoding)) == "d\ne\n"
    assert "h\xe9".encode(NAME) == "h\xe9".encode(encoding)


def test_unfinished_line_is_handed_over_once():
    decoder = make_decoder([])
    handed = [decoder.decode(b"x" * 1_000) for _ in range(1_000)]
    assert not any(handed)
    assert decoder.decode(b"\n") == "x" * 1_000_000 + "\n"


def test_line_over_the_bound_is_told_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(line_codec, "MAX_ANSWER_BYTES", 10)
    reasons: list[str] = []
    decoder = make_decoder(reasons)
    assert decoder.decode(b"123456789\n12345") == "123456789\n"
    assert decoder.decode(b"67890") == "" and not reasons
    assert decoder.decode(b"1") == ""
    assert decoder.decode(b"2\n3\n") == ""
    assert reasons == ["it has sent a line longer than 10 bytes"]
