"""OpenAILlm, the adapter to models behind chat completions, of OpenAI and compatible servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

from pydantic import Field, PrivateAttr

from .._aclosing import Aclosing
from .capabilities import ModelCapabilities
from .converted import Converted
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .openai_api_llm import OpenAIApiLlm
from .providers import UNNAMED_SERVER, Provider, provider_named
from .wire.chat_answer import ChatAnswer
from .wire.chat_dialects import ChatDialect, dialect_of
from .wire.chat_messages import messages_of
from .wire.chat_request import chat_body
from .wire.embeddings import vectors_of
from .wire.turns import Turn, items_for

_PATH = "/chat/completions"
_EMBEDDINGS = "/embeddings"
_OPENAI = ("openai", "openai-chat")


class OpenAILlm(OpenAIApiLlm):
    """A model behind chat completions.

    What the format does not know (safety settings, a cached content, labels) is left out of
    requests.

    Attributes:
      server: whose server it is, by its name among the providers: `ollama`, `vllm`, `openrouter`,
        ...; given as `provider=`. Without it, it is OpenAI's, or with `base_url` any server, which
        is sent no key but `api_key`.
    """

    server: str = Field(default="", alias="provider")

    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    @property
    def provider(self) -> Provider:
        """The entry of the server in the table."""
        if self.base_url and not self.server:
            return UNNAMED_SERVER
        return provider_named(self.server or "openai-chat")

    @property
    def pairs_calls_by_id(self) -> bool:
        """True: each result names its call."""
        return True

    @property
    def capabilities(self) -> ModelCapabilities:
        """What the server takes; what its model can do only its maker knows."""
        own = self.provider.name in _OPENAI
        return ModelCapabilities(
            structured_output_with_tools=own, thinking=True, caching=own, audio=True
        )

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, of an embedding model that the server has.

        Raises:
          ProviderError: there are none; the class says why.
        """
        if not texts:
            return []
        body = {"model": self.model, "input": [*texts], "encoding_format": "float"}
        try:
            return vectors_of(await self._ask(_EMBEDDINGS, body, LlmRequest()), len(texts))
        except Exception as error:  # boundary: map the transport's errors to ours
            raise self._to_provider_error(error) or error from None

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        body = self._body(llm_request)
        if stream:
            body["stream"] = True
            if self._dialect.stream_options:
                body["stream_options"] = {"include_usage": True}
        answer = ChatAnswer()
        async with self._transport.stream(self._request_to(_PATH, body, llm_request)) as http:
            if not stream:
                answer.add_whole(await self._whole(http))
                yield answer.finish()
                return
            async with Aclosing(await self._events(http)) as events:
                async for event in events:
                    for piece in answer.add(event):
                        yield piece
            yield answer.finish()

    @property
    def _dialect(self) -> ChatDialect:
        return dialect_of(self.provider.name)

    def _body(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return a request's body."""
        self._maybe_append_user_content(llm_request)
        dialect = self._dialect
        messages = items_for(
            llm_request.contents, partial(messages_of, dialect=dialect), self._converted
        )
        model = llm_request.model or self.model
        body = chat_body(model, messages, llm_request.config, dialect)
        self._with_extras(body, llm_request.config)
        return body
