"""LiteLlm, the adapter to the models that the LiteLLM library supports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from .._absences import refuse_absent
from .._aclosing import Aclosing
from .._optional import need
from .capabilities import ModelCapabilities
from .converted import Converted
from .http.credentials import read_key
from .lite_llm_errors import LiteLlmErrors
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .providers import provider_named
from .wire.chat_answer import ChatAnswer
from .wire.chat_dialects import LITELLM, ChatDialect
from .wire.chat_messages import messages_of
from .wire.chat_request import chat_body
from .wire.faults import BadAnswer
from .wire.reading import fields_of
from .wire.turns import Turn, items_for

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


# What the request itself says; the same among the options would contradict it.
_OWN = ("messages", "tools", "stream", "llm_client")


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

    def completion(
        self,
        model: str,
        messages: list[Any],
        tools: list[Any] | None,
        stream: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Ask a model and wait for it; for programs, as LiteLlm itself calls `acompletion`.

        Args:
          model, messages, tools, kwargs: as for `acompletion`.
          stream: answer with an iterator of chunks.
        """
        litellm: Any = need("litellm", extra="litellm")
        litellm.suppress_debug_info = True
        return litellm.completion(
            model=model, messages=messages, tools=tools, stream=stream, **kwargs
        )


class LiteLlm(LiteLlmErrors):
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

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the pattern of the names that LiteLLM serves without Ostinato's prefix."""
        return [provider_named(cls.provider_name).names]

    @property
    def pairs_calls_by_id(self) -> bool:
        """True: each result names its call."""
        return True

    @property
    def capabilities(self) -> ModelCapabilities:
        """What LiteLLM can carry; what the model can do only its provider knows.

        A schema beside tools is one of these: LiteLLM makes a call of it for a provider without.
        """
        return ModelCapabilities(structured_output_with_tools=True, thinking=True)

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        arguments = self._arguments(llm_request)
        if callable(self.api_key):
            arguments["api_key"] = await read_key(self.api_key)
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
        if (key := self._own_key()) is not None:
            arguments["api_key"] = key
        if self.base_url is not None:
            arguments["api_base"] = self.base_url
        if config.http_options is not None:
            arguments |= config.http_options.extra_body or {}
            if config.http_options.headers:
                arguments["extra_headers"] = config.http_options.headers
        return arguments

    @property
    def _dialect(self) -> ChatDialect:
        """What LiteLLM takes; DeepSeek's models want their thoughts back as text."""
        is_deepseek = "deepseek" in self.model
        return replace(LITELLM, thoughts="reasoning_content") if is_deepseek else LITELLM


async def _chunks(stream: AsyncIterator[Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the chunks of LiteLLM's stream as JSON objects, and close it at the end."""
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
