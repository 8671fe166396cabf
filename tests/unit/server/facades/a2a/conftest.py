"""a2a-sdk's own client against a real server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types.a2a_pb2 import SendMessageConfiguration, SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.unit.server.conftest import Served

BINDINGS = ("JSONRPC", "HTTP+JSON")


@dataclass
class Peer:
    """The SDK's client, streaming and not."""

    stream: Any
    plain: Any

    async def send(self, *parts: Any, stream: bool = False, **more: Any) -> list[Any]:
        """Send a message; return what came, as JSON."""
        told = [{"text": one} if isinstance(one, str) else one for one in parts]
        message = {
            "messageId": str(uuid.uuid4()),
            "role": "ROLE_USER",
            "parts": told,
            **{key: value for key, value in more.items() if key != "configuration"},
        }
        request = ParseDict({"message": message}, SendMessageRequest())
        if "configuration" in more:
            request.configuration.CopyFrom(
                ParseDict(more["configuration"], SendMessageConfiguration())
            )
        client = self.stream if stream else self.plain
        return [MessageToDict(one) async for one in client.send_message(request)]

    async def task(self, *parts: Any, **more: Any) -> Any:
        """Send a message; return the task that came."""
        (found,) = await self.send(*parts, **more)
        return found["task"]


@pytest.fixture(params=BINDINGS)
async def peer(request: pytest.FixtureRequest, desk: Served) -> AsyncIterator[Peer]:
    """A client of each binding."""
    async with httpx.AsyncClient(timeout=60) as http:
        made = [
            await create_client(
                f"{desk.client.base_url}/a2a/desk",
                ClientConfig(
                    streaming=streaming,
                    httpx_client=http,
                    supported_protocol_bindings=[request.param],
                    use_client_preference=True,
                ),
            )
            for streaming in (True, False)
        ]
        yield Peer(*made)
