"""OpenAIResponsesLlm: OpenAI's models behind the Responses API. The registry names it."""

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
from .wire.openai_errors import status_of
from .wire.responses_answer import ResponsesAnswer
from .wire.responses_items import input_items_of
from .wire.responses_request import reasons, responses_body, since_last_answer
from .wire.turns import Turn, items_for

_PATH = "/responses"


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

    @property
    def capabilities(self) -> ModelCapabilities:
        """What OpenAI's models can do behind this API."""
        return ModelCapabilities(
            structured_output_with_tools=True,
            thinking=reasons(self.model),
            caching=True,
            audio=False,
        )

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        body = self._body(llm_request)
        answer = ResponsesAnswer()
        if stream:
            body["stream"] = True
            events = self._stream(_PATH, body, llm_request)
            async with Aclosing(events):
                async for event in events:
                    if event.get("type") == "error":
                        code, message = event.get("code"), str(event.get("message") or "")
                        raise self._said(status_of(code, 500), message, f"{code} {message}")
                    if (partial := answer.add(event)) is not None:
                        yield partial
        else:
            answer.add(await self._post(_PATH, body, llm_request))
        if (failure := answer.failure) is not None:
            code, message = failure
            raise self._said(status_of(code, 400), message, f"{code} {message}")
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
        )
        self._with_extras(body, llm_request.config)
        return body
