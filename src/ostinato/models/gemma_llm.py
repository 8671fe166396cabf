"""Gemma: models behind Gemini's API that know neither function calling nor a system instruction.
The registry names them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar, cast

from .. import types
from .._aclosing import Aclosing
from .._later_on import NotBuilt
from .capabilities import ModelCapabilities
from .google_llm import Gemini
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .request_text import declared_functions, instruction_text
from .wire.written_calls import GemmaFunctionCallModel as GemmaFunctionCallModel
from .wire.written_calls import read_call, told_functions, written_content


class GemmaFunctionCallingMixin:
    """Writes functions, calls and responses into the text of a request, and reads calls out of an
    answer's text. For a BaseLlm whose model knows no function calling.
    """

    def written_request(self, llm_request: LlmRequest) -> LlmRequest:
        """Return a copy of a request that has its functions and instruction in its contents."""
        config = llm_request.config.model_copy(update={"system_instruction": None, "tools": None})
        functions = told_functions(declared_functions(llm_request.config))
        texts = [x for x in (instruction_text(llm_request.config), functions) if x]
        contents = [written_content(content) for content in llm_request.contents]
        if texts:
            part = types.Part(text="\n\n".join(texts))
            contents.insert(0, types.Content(role="user", parts=[part]))
        kept: list[Any] = [
            tool.model_copy(update={"function_declarations": None})
            for tool in cast(list[Any], llm_request.config.tools or [])
            if isinstance(tool, types.Tool)
            and any(getattr(tool, x) for x in tool.model_fields_set - {"function_declarations"})
        ]
        config.tools = kept or None
        return llm_request.model_copy(update={"config": config, "contents": contents})

    def read_response(self, llm_response: LlmResponse, names: set[str]) -> LlmResponse:
        """Return a whole response with the call its text holds as a call.

        Args:
          llm_response: the response.
          names: the functions that were offered; text that calls another stays text.
        """
        content = llm_response.content
        if content is None or llm_response.partial:
            return llm_response
        texts = [part.text for part in content.parts or () if part.text and not part.thought]
        call = read_call("".join(texts)) if texts else None
        if call is None or call.name not in names:
            return llm_response
        thoughts = [part for part in content.parts or () if part.thought]
        parts = [*thoughts, types.Part(function_call=call)]
        content = types.Content(role="model", parts=parts)
        return llm_response.model_copy(update={"content": content})


class Gemma(GemmaFunctionCallingMixin, Gemini):
    """A Gemma model behind the API of Gemini; functions are called in its text."""

    provider_name: ClassVar[str] = "gemma"

    model: str = "gemma-3-27b-it"

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the names this class serves."""
        return [r"gemma-.*"]

    @property
    def capabilities(self) -> ModelCapabilities:
        """What Gemma can do: it answers in text, of images too."""
        return ModelCapabilities(
            structured_output=False, tools=False, parallel_calls=False, audio=False, files=False
        )

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask once, in text."""
        names = {x.name for x in declared_functions(llm_request.config) if x.name}
        answers = super()._generate(self.written_request(llm_request), stream)
        async with Aclosing(answers):
            async for response in answers:
                yield self.read_response(response, names)


class Gemma3Ollama(
    NotBuilt,
    part="the model adapters",
    instead="use model='ollama:gemma3', or a BaseLlm of your own with GemmaFunctionCallingMixin",
):
    """A Gemma model served by Ollama."""
