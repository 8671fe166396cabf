"""Live sessions with Gemini models over a WebSocket, with the interface of google-genai's. The
Gemini adapter opens them, and `GeminiLlmConnection` uses them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from .. import types
from .gemini_endpoint import GeminiEndpoint
from .http.errors import HttpStatusError
from .live_llm import open_socket
from .wire.faults import Unsendable
from .wire.gemini_answer import read_record, stream_error
from .wire.gemini_live import live_setup, realtime_json, rename_usage_of_vertex
from .wire.json_item import json_bytes
from .wire.reading import read_json

Json = dict[str, Any]


class GeminiLiveSession:
    """An open live session.

    Attributes:
      session_id: the service's id of the session, if it sent one.

    Args:
      socket: the open WebSocket.
      on_vertex: whether the server is Vertex AI.
    """

    def __init__(self, socket: Any, *, on_vertex: bool) -> None:
        self.session_id: str | None = None
        self._socket, self._on_vertex = socket, on_vertex

    async def open(self, setup: Json) -> None:
        """Send the settings, and wait until the service accepts them."""
        await self._send({"setup": setup})
        ready = self._read(await self._socket.recv(decode=False))
        if ready.setup_complete is not None:
            self.session_id = ready.setup_complete.session_id

    async def send_client_content(self, *, turns: Sequence[Json], turn_complete: bool) -> None:
        """Send contents of the conversation."""
        said = {"turns": turns, "turnComplete": turn_complete}
        await self._send({"client_content": said})

    async def send_realtime_input(self, **one: Any) -> None:
        """Send audio, an image, text, or the start or end of user activity."""
        await self._send({"realtime_input": realtime_json(one)})

    async def send_tool_response(self, *, function_responses: Sequence[Mapping[str, Any]]) -> None:
        """Send the results of calls.

        Raises:
          Unsendable: a result does not name its call.
        """
        answers: list[Json] = []
        for given in function_responses:
            answer = types.FunctionResponse.model_validate(given)
            if not answer.id and not self._on_vertex:
                raise Unsendable(f"a response of {answer.name!r} without the id of its call")
            answers.append(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
        await self._send({"tool_response": {"functionResponses": answers}})

    async def receive(self) -> AsyncGenerator[types.LiveServerMessage, None]:
        """Yield the service's messages until the connection ends."""
        while True:
            yield self._read(await self._socket.recv(decode=False))

    async def close(self) -> None:
        """Close the connection."""
        await self._socket.close()

    async def _send(self, message: Json) -> None:
        await self._socket.send(json.dumps(message))

    def _read(self, text: str | bytes) -> types.LiveServerMessage:
        """Return a message of the service.

        Raises:
          HttpStatusError: the message is an error.
          BadAnswer: the text is not a message of the API.
        """
        data = read_json(text or b"{}")
        found = stream_error(data)
        if found is not None:
            raise HttpStatusError(found[0] or 500, {}, json_bytes(data))
        if self._on_vertex:
            rename_usage_of_vertex(data)
        return read_record(types.LiveServerMessage, data)


@asynccontextmanager
async def open_live_session(
    endpoint: GeminiEndpoint, headers: Mapping[str, str], model: str, settings: Json
) -> AsyncGenerator[GeminiLiveSession, None]:
    """Open a session.

    Args:
      endpoint: the address of the service.
      headers: the headers of the handshake, including the login.
      model: the model's name.
      settings: fields of a `types.LiveConnectConfig`.
    """
    config = types.LiveConnectConfig.model_validate(settings)
    setup = live_setup(config, developer=not endpoint.on_vertex)
    setup["model"] = model if endpoint.is_gateway else endpoint.full_model_path(model)
    async with open_socket(endpoint.live_url, headers) as socket:
        session = GeminiLiveSession(socket, on_vertex=endpoint.on_vertex)
        await session.open(setup)
        yield session
