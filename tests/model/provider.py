"""A provider that keeps interactions, and models that send what is new since the last one alone."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from pydantic import PrivateAttr

from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import FunctionModel
from ostinato.types import Content


class Provider:
    """Keeps what was sent and said, by the ids of its interactions."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}
        self._numbers = itertools.count(1)

    def model(self, answer: Callable[[LlmRequest], Any]) -> FunctionModel:
        """Return a model whose answers the provider keeps."""
        return _ChainingModel(answer, self)

    def check(self, request: LlmRequest) -> None:
        """A model knows what the request says, and nothing else."""
        known, whole = self._known(request), [_form(one) for one in request.contents]
        assert known == whole, f"the provider knows {known}, and not {whole}"

    def keep(self, request: LlmRequest, said: Content | None) -> str:
        """Keep a request with its answer; return the id of the interaction."""
        name = f"interaction-{next(self._numbers)}"
        self._kept[name] = [*self._known(request), *([] if said is None else [_form(said)])]
        return name

    def _known(self, request: LlmRequest) -> list[Any]:
        contents: Sequence[Content] = request.contents
        if request.previous_interaction_id is None:
            return [_form(one) for one in contents]
        start = len(contents)
        while start and contents[start - 1].role != "model":
            start -= 1
        kept = self._kept[request.previous_interaction_id]
        return [*kept, *(_form(one) for one in contents[start:])]


class _ChainingModel(FunctionModel):
    """A model that chains interactions."""

    use_interactions_api: bool = True
    _provider: Provider = PrivateAttr()

    def __init__(
        self,
        answer: Callable[[LlmRequest], Any],
        provider: Provider,
    ) -> None:
        super().__init__(answer)
        self._provider = provider

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(llm_request, stream):
            if not response.partial:
                response.interaction_id = self._provider.keep(llm_request, response.content)
            yield response


def _form(content: Content) -> Any:
    """Return what a content says, without ids."""
    return content.role, [
        (
            part.text,
            part.function_call and (part.function_call.name, part.function_call.args),
            part.function_response
            and (part.function_response.name, part.function_response.response),
        )
        for part in content.parts or ()
        if part.text != ""
    ]
