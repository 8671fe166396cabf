"""Generated faults of servers: each gives a typed error or a right answer, and leaks nothing."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from importlib import import_module
from typing import Any

import pytest

from ostinato.errors import ProviderError
from ostinato.models.llm_response import LlmResponse
from tests.support.tries import tries
from tests.wire.asking import offered, request, texts
from tests.wire.fault_server import Fault, FaultServer, make_fault
from tests.wire.turns import Call, Turn

#: Faults for each wire; `OSTINATO_FAULTS=2500` makes the four wires' 10,000.
FAULTS = int(os.environ.get("OSTINATO_FAULTS", tries(250)))
TURN = Turn("Yes, ☀.", (Call("book", {"city": "Rome"}),), thought="Hm.")
LONGEST_S = 20


@pytest.mark.tries
@pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning")  # a value that is new to us
@pytest.mark.parametrize("wire", ["chat", "responses", "gemini", "anthropic"])
async def test_generated_faults(wire: str) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    right = 0
    async with FaultServer() as server:
        llm = script.llm(server.url)
        for number in range(FAULTS):
            stream, fault = make_fault(number, lambda stream: _objects(script, stream), script.KEY)
            server.faults = [fault] * 8  # redirects may come back
            try:
                async with asyncio.timeout(LONGEST_S):
                    right += await _ask(llm, fault, stream=stream)
            except BaseException as error:
                error.add_note(f"fault {number} of {wire}: {fault!r:.3000}")
                raise
        await llm.aclose()
        async with asyncio.timeout(LONGEST_S):
            await server.all_closed()
    assert right >= FAULTS // 12


async def _ask(llm: Any, fault: Fault, *, stream: bool) -> int:
    """Ask once; return 1 for an answer, 0 for a typed error."""
    got: list[LlmResponse] = []
    try:
        async for one in llm.generate_content_async(request(tools=offered("book")), stream=stream):
            got.append(one)  # noqa: PERF401  what came before the error counts
    except ProviderError as error:
        assert "SECRET" not in "".join(traceback.format_exception(error)), str(error)
        assert error.provider and error.model in str(error)
        assert not fault.answers, error
        return 0
    assert got and not got[-1].partial and all(one.partial for one in got[:-1])
    if fault.answers:
        assert texts(got) == TURN.text
        assert [call.args for call in got[-1].get_function_calls()] == [{"city": "Rome"}]
    return 1


def _objects(script: Any, stream: bool) -> list[Any]:
    """Return the objects of a right answer."""
    (right,) = script.answers([TURN], stream=stream)
    if not stream:
        return [right.body if isinstance(right.body, dict) else json.loads(right.body)]
    lines = b"".join(right.body).decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(one) for one in data]
