"""Answers that are odd but right (marks, compression, media types, ids), and damaged ones."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from typing import Any

import pytest

from ostinato.errors import ModelAnswerError
from ostinato.models.http.messages import HttpRequest
from ostinato.models.http.transport import HttpTransport
from tests.wire.asking import ask, fails, request, texts
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn

WIRES = pytest.mark.parametrize("wire", ["anthropic", "chat", "gemini", "responses"])
BOM = b"\xef\xbb\xbf"


def _body(answer: Answer) -> bytes:
    body: Any = answer.body
    if isinstance(body, list):
        return b"".join(body)
    return json.dumps(body).encode()


@WIRES
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["marked", "compressed", "padded"])
async def test_a_mark_or_compression_changes_nothing(wire: str, stream: bool, kind: str) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    [answer] = script.answers([Turn("Yes, I do.")], stream=stream)
    body, headers = _body(answer), {"content-type": "application/json"}
    if stream:
        headers["content-type"] = 'Text/Event-Stream; charset="UTF-8"'
    if kind == "marked":
        body = BOM + body
    else:
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body) + (b"\0" * 9 if kind == "padded" else b"")
    async with FakeServer([Answer(body, headers=headers)]) as server:
        assert texts(await ask(script.llm(server.url), request(), stream=stream)) == "Yes, I do."


@WIRES
@pytest.mark.parametrize("damage", ["cut", "trailer"])
async def test_damaged_compression_is_no_answer(wire: str, damage: str) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    [answer] = script.answers([Turn("Yes, I do.")], stream=False)
    body = gzip.compress(_body(answer))
    damaged = body[:-20] if damage == "cut" else body[:-8] + b"\0" * 8
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    async with FakeServer([Answer(damaged, headers=headers)]) as server:
        found = await fails(script.llm(server.url), request())
    assert isinstance(found, ModelAnswerError)


async def test_a_request_id_holds_no_control_characters_and_no_key() -> None:
    headers = {"x-request-id": "a\tb\xa0\x9bc sk-SECRET-0123456789"}
    async with FakeServer([Answer({}, headers=headers)]) as server:
        transport = HttpTransport()
        sent = {"authorization": "Bearer sk-SECRET-0123456789"}
        answer = await transport.send(HttpRequest("POST", server.url, sent))
        await transport.aclose()
    assert answer.request_id.isprintable() and "SECRET" not in answer.request_id
    assert answer.request_id.startswith("a?b")
