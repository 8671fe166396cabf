"""Models that fail as scripted: a provider's, and a user's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from pydantic import PrivateAttr

from ostinato import types
from ostinato.errors import ProviderError
from ostinato.models import BaseLlm, LlmRequest, LlmResponse
from ostinato.models.capabilities import ModelCapabilities
from ostinato.models.provider_llm import ProviderLlm
from tests.support.optionals import parts_of

KEY = "sk-SECRET-0123456789"


def piece(text: str) -> LlmResponse:
    return LlmResponse(content=content(text), partial=True)


def whole(text: str, tokens: int = 0) -> LlmResponse:
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=tokens)
    return LlmResponse(content=content(text), usage_metadata=usage if tokens else None)


def content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


async def play(script: list[Any]) -> AsyncGenerator[LlmResponse, None]:
    """Yield what the next item holds, and raise the exceptions in it."""
    turn = script.pop(0)
    for item in turn if isinstance(turn, list) else [turn]:
        if isinstance(item, BaseException):
            raise item
        yield whole(item) if isinstance(item, str) else item


class SdkError(Exception):
    """Stands for an error of a provider's SDK."""

    def __init__(self, status: int | str, detail: str = "no", retry_after: float | None = None):
        super().__init__(f"{detail} (key {KEY})")
        self.status, self.detail, self.retry_after = status, detail, retry_after


class Scripted(ProviderLlm):
    """A provider's model whose SDK does what a script says."""

    provider_name: ClassVar[str] = "openai"

    script: list[Any] = []
    closed: int = 0

    _asked: list[LlmRequest] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *script: Any, **fields: Any) -> Scripted:
        llm = cls(model=fields.pop("model", "gpt-5"), **fields)
        llm.script = list(script)
        return llm

    @property
    def asked(self) -> list[LlmRequest]:
        return self._asked

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        self._asked.append(llm_request)
        async for response in play(self.script):
            yield response

    def _explain(self, error: Exception) -> ProviderError | None:
        if not isinstance(error, SdkError):
            return None
        if error.status == "timeout":
            return self._timed_out()
        if error.status == "unreachable":
            return self._unreachable(error.detail)
        if error.status == "cut":
            return self._bad_answer(error.detail)
        return self._make_status_error(int(error.status), str(error), retry_after=error.retry_after)

    async def aclose(self) -> None:
        self.closed += 1


class Own(BaseLlm):
    """A user's own model."""

    model: str = "own"
    can: ModelCapabilities = ModelCapabilities()

    _script: list[Any] = PrivateAttr(default_factory=list)
    _asked: list[LlmRequest] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *script: Any, **fields: Any) -> Own:
        llm = cls(**fields)
        llm._script = list(script)
        return llm

    @property
    def asked(self) -> list[LlmRequest]:
        return self._asked

    @property
    def capabilities(self) -> ModelCapabilities:
        return self.can

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._asked.append(llm_request)
        async for response in play(self._script):
            yield response


async def told(llm: BaseLlm, request: LlmRequest | None = None) -> list[Any]:
    """What a model answers: texts, partial ones in a tuple, `...` for a restart."""
    found: list[Any] = []
    async for response in llm.generate_content_async(request or LlmRequest(), stream=True):
        if response.partial and not parts_of(response):
            assert response.custom_metadata == {"restarted": True}
            found.append(...)
            continue
        text = parts_of(response)[0].text
        found.append((text,) if response.partial else text)
    return found
