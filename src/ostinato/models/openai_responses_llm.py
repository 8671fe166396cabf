"""OpenAIResponsesLlm, the adapter to OpenAI's models behind the Responses API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from pydantic import PrivateAttr

from .._aclosing import Aclosing
from .capabilities import ModelCapabilities
from .converted import Converted
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .openai_api_llm import OpenAIApiLlm
from .providers import provider_named
from .wire.faults import BadAnswer
from .wire.openai_errors import status_of
from .wire.reading import number_of
from .wire.responses_answer import ResponsesAnswer
from .wire.responses_items import input_items_of
from .wire.responses_request import (
    has_tool_search,
    reasons,
    responses_body,
    since_last_answer,
)
from .wire.turns import Turn, items_for

_PATH = "/responses"
_COUNT = "/responses/input_tokens"
_MOST_DEFERRED = 100  # the model is told the name and description of each
_COUNTED = (
    *("model", "input", "instructions", "tools", "tool_choice", "text", "reasoning"),
    *("parallel_tool_calls", "previous_response_id"),
)


class OpenAIResponsesLlm(OpenAIApiLlm):
    """A model behind OpenAI's Responses API.

    Requests carry the whole conversation and OpenAI keeps nothing; encrypted reasoning goes back to
    the model with it. What the API does not know (top_k, seed, stop sequences, penalties, several
    candidates) is left out of requests.

    Attributes:
      use_interactions_api: let OpenAI keep the answers, and send only what is new since the last.
    """

    provider_name: ClassVar[str] = "openai"

    use_interactions_api: bool = False

    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the pattern of OpenAI's names."""
        return [provider_named(cls.provider_name).names]

    @property
    def pairs_calls_by_id(self) -> bool:
        """True: each result names its call."""
        return True

    @property
    def capabilities(self) -> ModelCapabilities:
        """What OpenAI's models can do behind this API."""
        return ModelCapabilities(
            structured_output_with_tools=True,
            thinking=reasons(self.model),
            caching=True,
            audio=False,
            tool_search=_MOST_DEFERRED if has_tool_search(self.model) else 0,
        )

    async def count_tokens(self, llm_request: LlmRequest) -> int:
        """Return how many tokens the prompt of a request has, as the service counts them.

        Raises:
          ProviderError: the service did not count them.
        """
        try:
            body = self._body(llm_request)
            counted = {name: body[name] for name in _COUNTED if name in body}
            answer = await self._ask(_COUNT, counted, llm_request)
            count = number_of(answer.get("input_tokens"))
            if count is None:
                raise BadAnswer("there is no count of tokens in it")
            return count
        except Exception as error:  # boundary: map the transport's errors to ours
            raise self._to_provider_error(error) or error from None

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        body = self._body(llm_request)
        if stream:
            body["stream"] = True
        answer = ResponsesAnswer()
        async with self._transport.stream(self._request_to(_PATH, body, llm_request)) as http:
            if not stream:
                answer.add(await self._whole(http))
            else:
                async with Aclosing(await self._events(http)) as events:
                    async for event in events:
                        if event.get("type") == "error":
                            code, message = event.get("code"), str(event.get("message") or "")
                            raise self._make_api_error(
                                status_of(code, 500), message, f"{code} {message}"
                            )
                        if (partial := answer.add(event)) is not None:
                            yield partial
            if (failure := answer.failure) is not None:
                code, message = failure
                raise self._make_api_error(status_of(code, 400), message, f"{code} {message}")
            yield answer.finish(keep=body["store"])

    def _body(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return a request's body."""
        self._maybe_append_user_content(llm_request)
        contents, previous = llm_request.contents, None
        if self.use_interactions_api and llm_request.previous_interaction_id:
            previous = llm_request.previous_interaction_id
            contents = since_last_answer(contents)
        body = responses_body(
            llm_request.model or self.model,
            items_for(contents, input_items_of, self._converted),
            llm_request.config,
            keep=self.use_interactions_api,
            previous=previous,
            deferred=llm_request.deferred_tools,
        )
        self._with_extras(body, llm_request.config)
        return body
