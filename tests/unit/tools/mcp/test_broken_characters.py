"""Broken characters of a server's JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from ostinato.tools.mcp.broken_characters import repair, repair_lines


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\uDE00x"', "\ufffdx"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\ud83d\ude00\ude00"', "\U0001f600\ufffd"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
        (rb'"\\\ud83d"', "\\\ufffd"),
        (rb'"\u0041\n"', "A\n"),
        (b'"caf\xe9 \xc3\xa9"', "caf\ufffd \u00e9"),
        (b'"\xed\xa0\xbd \\ud83d"', "\ufffd\ufffd\ufffd \ufffd"),
    ],
)
def test_only_what_is_broken_is_replaced(body: bytes, wanted: str):
    assert json.loads(repair(body)) == wanted


async def give(*chunks: bytes) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_escape_that_is_split_over_chunks():
    chunks = give(rb"data: a\ud8", rb"3d\ude00 \u", b"d83d\ndata", b": b\n\ntail")
    body = b"".join([piece async for piece in repair_lines(chunks, 100)])
    assert body == rb"data: a\ud83d\ude00 \ufffd" + b"\ndata: b\n\ntail"


async def test_character_that_is_split_over_chunks_is_whole():
    chunks = give(b"data: \xc3", b"\xa9 \xe9", b"\n")
    assert b"".join([piece async for piece in repair_lines(chunks, 100)]).decode() == (
        "data: \u00e9 \ufffd\n"
    )


async def test_long_line_is_handed_on():
    chunks = give(*[b"x" * 10] * 100, b"\n")
    pieces = [piece async for piece in repair_lines(chunks, 50)]
    assert b"".join(pieces) == b"x" * 1_000 + b"\n" and max(map(len, pieces)) <= 60
