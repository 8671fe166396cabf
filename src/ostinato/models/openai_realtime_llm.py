"""OpenAIRealtimeLlm, the adapter to OpenAI's models behind the Realtime API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Literal
from urllib.parse import urlencode

from .._optional import need
from ..errors import ModelRequestError
from .capabilities import ModelCapabilities
from .http.errors import HttpError
from .http.messages import HttpRequest
from .http.urls import join_url
from .live_llm import MAX_MESSAGE, LiveLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .openai_api_llm import OpenAIApiLlm
from .openai_realtime_connection import OpenAIRealtimeConnection
from .wire.openai_errors import status_of
from .wire.reading import fields_of, text_of
from .wire.realtime_items import interrupts, session_of

Format = Literal["audio/pcm", "audio/pcmu", "audio/pcma"]

_READY = "session.updated"


class OpenAIRealtimeLlm(LiveLlm, OpenAIApiLlm):
    """An OpenAI realtime model, for `Runner.run_live`.

    Attributes:
      input_format: of the user's sound: PCM of 16 bits at 24 kHz, or G.711.
      output_format: of the model's sound.
      transcription_model: what transcribes the user, where RunConfig asks for it.
    """

    provider_name: ClassVar[str] = "openai-realtime"
    sdk_package: ClassVar[str] = ""  # WebSockets go through no HTTP client

    model: str = "gpt-realtime"
    input_format: Format = "audio/pcm"
    output_format: Format = "audio/pcm"
    transcription_model: str = "gpt-4o-mini-transcribe"

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the names this class serves."""
        return [r"gpt-realtime.*", r"gpt-4o(-mini)?-realtime.*"]

    @property
    def capabilities(self) -> ModelCapabilities:
        """What the model can do."""
        return ModelCapabilities(audio=True)

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        raise ModelRequestError(
            f"Model {self.model!r} is spoken with live: use Runner.run_live, or another model with "
            "run_async.",
            provider=self.provider.name,
            model=self.model,
        )
        yield

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncGenerator[OpenAIRealtimeConnection]:
        """Open a live connection (Spec 1 §17).

        Raises:
          ProviderError: it did not come about; the class says why.
        """
        websockets = need("websockets.asyncio.client", extra="live")
        name = llm_request.model or self.model
        try:
            session = session_of(
                llm_request,
                heard_as=self.input_format,
                spoken_as=self.output_format,
                transcriber=self.transcription_model,
            )
        except Exception as error:  # boundary: what cannot be sent becomes a ProviderError
            raise self._live_error(error) from None
        manager = websockets.connect(
            self._socket_url(name),
            additional_headers=await self._socket_headers(name),
            close_timeout=2,
            max_size=MAX_MESSAGE,
        )
        async with self._opened_live(manager) as connection:
            try:
                async with asyncio.timeout(self.timeout):
                    session_id = await self._set_up(connection, session)
            except Exception as error:  # boundary: map the library's errors to ours
                raise self._live_error(error) from None
            yield OpenAIRealtimeConnection(
                connection,
                name,
                session_id=session_id,
                formats=(self.input_format, self.output_format),
                interrupts=interrupts(llm_request.live_connect_config.realtime_input_config),
                in_our_words=self._live_error,
                cleaned=self._clean_detail,
            )

    def _socket_url(self, name: str) -> str:
        """Return the WebSocket URL of a model."""
        scheme, separator, rest = join_url(self._place() or "", "/realtime").partition("://")
        scheme = {"http": "ws", "https": "wss"}.get(scheme, scheme)
        query = urlencode({"model": name})
        return f"{scheme}{separator}{rest}{'&' if '?' in rest else '?'}{query}"

    async def _socket_headers(self, name: str) -> dict[str, str]:
        """Return the handshake headers of a connection to a model."""
        opening = HttpRequest("GET", self._socket_url(name), self.provider.headers)
        try:
            return {**opening.headers, **await self._credential().headers(opening)}
        except HttpError as error:
            raise self._live_error(error) from None

    async def _set_up(self, connection: Any, session: dict[str, Any]) -> str | None:
        """Configure the session and return its id.

        Raises:
          ProviderError: the provider refuses the settings.
        """
        await connection.send(json.dumps({"type": "session.update", "session": session}))
        session_id: str | None = None
        while True:
            event = fields_of(json.loads(await connection.recv(decode=False)))
            kind = text_of(event.get("type"))
            if kind == "error":
                error = fields_of(event.get("error"))
                code = error.get("code") or error.get("type")
                text = text_of(error.get("message")) or "it gave no reason"
                raise self._make_api_error(status_of(code, 400), text, f"{text} {code}")
            session_id = text_of(fields_of(event.get("session")).get("id")) or session_id
            if kind == _READY:
                return session_id
