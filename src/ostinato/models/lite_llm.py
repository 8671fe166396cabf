"""LiteLlm: the models that LiteLLM reaches, through its own library. The registry names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from .._aclosing import Aclosing
from .._optional import need
from ..errors import ProviderError
from .capabilities import ModelCapabilities
from .converted import Converted
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .openai_errors_llm import OpenAIErrorsLlm
from .wire.chat_answer import ChatAnswer
from .wire.chat_dialects import LITELLM, ChatDialect
from .wire.chat_messages import messages_of
from .wire.chat_request import chat_body
from .wire.faults import BadAnswer
from .wire.reading import fields_of
from .wire.turns import Turn, items_for

# What the request itself says; the same among the options would contradict it.
_OWN = ("messages", "tools", "stream", "llm_client")
_PAGE = "<html"


class LiteLLMClient:
    """What `LiteLlm` asks of LiteLLM; give it another one to change how requests are sent."""

    async def acompletion(
        self, model: str, messages: list[Any], tools: list[Any] | None, **kwargs: Any
    ) -> Any:
        """Ask a model.

        Args:
          model: LiteLLM's name of the model.
          messages: the conversation, as messages of chat completions.
          tools: the functions it may call.
          kwargs: further arguments of `litellm.acompletion`.

        Returns:
          LiteLLM's answer, or with `stream=True` an asynchronous iterator of its chunks.
        """
        litellm: Any = need("litellm", extra="litellm")
        litellm.suppress_debug_info = True  # it would print advertisements at each error
        return await litellm.acompletion(model=model, messages=messages, tools=tools, **kwargs)


class LiteLlm(OpenAIErrorsLlm):
    """A model that LiteLLM reaches.

    Answers of more than 100 MB are not refused here: LiteLLM's client has no place for that.

    Args:
      model: LiteLLM's name of the model, such as `groq/llama-3.3-70b-versatile`.
      llm_client: sends the requests.
      kwargs: `api_key`, `base_url` (or `api_base`), `timeout` in seconds; and arguments of
        `litellm.acompletion` for each request, such as `drop_params=True`.
    """

    provider_name: ClassVar[str] = "litellm"

    llm_client: Any = Field(default_factory=LiteLLMClient, exclude=True)

    _options: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])
    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    def __init__(self, model: str, llm_client: LiteLLMClient | None = None, **kwargs: Any) -> None:
        own = {name: kwargs.pop(name) for name in [*kwargs] if name in type(self).model_fields}
        if "api_base" in kwargs:
            own["base_url"] = kwargs.pop("api_base")
        if llm_client is not None:
            own["llm_client"] = llm_client
        super().__init__(model=model, **own)
        self._options = {name: value for name, value in kwargs.items() if name not in _OWN}

    @property
    def capabilities(self) -> ModelCapabilities:
        """What LiteLLM can carry; what the model can do only its provider knows."""
        return ModelCapabilities(thinking=True)

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        arguments = self._arguments(llm_request)
        answer = ChatAnswer()
        if not stream:
            answer.add_whole(_fields(await self.llm_client.acompletion(**arguments)))
            yield answer.finish()
            return
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        chunks = _chunks(await self.llm_client.acompletion(**arguments))
        async with Aclosing(chunks):
            async for chunk in chunks:
                for piece in answer.add(chunk):
                    yield piece
        yield answer.finish()

    def _arguments(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return the arguments for LiteLLM."""
        self._maybe_append_user_content(llm_request)
        dialect = self._dialect
        messages = items_for(
            llm_request.contents, partial(messages_of, dialect=dialect), self._converted
        )
        config = llm_request.config
        body = chat_body(llm_request.model or self.model, messages, config, dialect)
        arguments: dict[str, Any] = {
            "tools": None,
            **body,
            "timeout": self.timeout,
            "num_retries": 0,
            "max_retries": 0,
            **self._options,
        }
        if self.api_key is not None:
            arguments["api_key"] = self.api_key.get_secret_value()
        if self.base_url is not None:
            arguments["api_base"] = self.base_url
        if config.http_options is not None:
            arguments |= config.http_options.extra_body or {}
            if config.http_options.headers:
                arguments["extra_headers"] = config.http_options.headers
        return arguments

    def _explain(self, error: Exception) -> ProviderError | None:
        """Return an error in our words; LiteLLM calls much a server's failure that is none."""
        text = str(error)
        if type(error).__name__ in ("InternalServerError", "APIConnectionError"):
            if "Connection error" in text or "Cannot connect" in text:
                return self._unreachable("no connection")
            if _PAGE in text.lower():
                return self._bad_answer(_PAGE)
            if "Traceback" in text or "invalid response" in text.lower() or "Expecting" in text:
                return self._bad_answer("it is not in the format of chat completions, or cut off")
        return super()._explain(error)

    @property
    def _dialect(self) -> ChatDialect:
        """What LiteLLM takes; DeepSeek's models want their thoughts back as text."""
        is_deepseek = "deepseek" in self.model
        return replace(LITELLM, thoughts="reasoning_content") if is_deepseek else LITELLM


async def _chunks(stream: AsyncIterator[Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the chunks of LiteLLM's stream as JSON objects, and let go of it at the end."""
    try:
        async for chunk in stream:
            yield _fields(chunk)
    finally:
        if (close := getattr(stream, "aclose", None)) is not None:
            await close()
    if getattr(stream, "received_finish_reason", "") is None:  # LiteLLM then made one up
        raise BadAnswer("the stream ended before the answer was complete")


def _fields(answer: Any) -> dict[str, Any]:
    """Return an answer or chunk of LiteLLM as a JSON object."""
    fields = fields_of(answer.model_dump() if hasattr(answer, "model_dump") else answer)
    if not fields:
        raise BadAnswer(f"it is {answer!r:.200}")
    return fields
