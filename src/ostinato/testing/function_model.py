"""A model whose answers a function computes from the request."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, cast

from pydantic import PrivateAttr

from .._aclosing import Aclosing
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .seen_request import SeenRequest
from .turn import responses


class FunctionModel(BaseLlm):
    """A model that answers with what a function makes of the request.

    Attributes:
      requests: snapshots of the requests so far.
    """

    model: str = "function"
    _function: Callable[[LlmRequest], Any] = PrivateAttr()
    _requests: list[SeenRequest] = PrivateAttr(default_factory=list[SeenRequest])

    def __init__(self, function: Callable[[LlmRequest], Any], *, model: str = "function") -> None:
        """Make a model of a function.

        Args:
          function: takes the LlmRequest and returns a turn as `ScriptedModel` takes them, an
            awaitable of one, or an (async) generator of turns, each a response of its own.
          model: the model's name.
        """
        super().__init__(model=model)
        self._function = function

    @property
    def requests(self) -> list[SeenRequest]:
        """Snapshots of the requests so far, in order."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with what the function returns."""
        self._requests.append(SeenRequest.of(llm_request, stream=stream))
        answer = self._function(llm_request)
        if inspect.isawaitable(answer):
            answer = await answer
        async with Aclosing(_iterate_turns(answer)) as turns:
            async for turn in turns:
                for response in responses(turn, stream=stream):
                    yield response


async def _iterate_turns(answer: Any) -> AsyncGenerator[Any, None]:
    if inspect.isasyncgen(answer):
        async with Aclosing(cast(AsyncGenerator[Any, None], answer)) as turns:
            async for turn in turns:
                yield turn
    elif isinstance(answer, AsyncIterator):
        async for turn in cast(AsyncIterator[Any], answer):
            yield turn
    elif inspect.isgenerator(answer):
        for turn in answer:
            yield turn
    else:
        yield answer
