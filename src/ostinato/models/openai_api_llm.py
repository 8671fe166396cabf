"""OpenAIApiLlm, the base class of adapters to OpenAI-compatible APIs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar, cast

from pydantic import Field

from .. import types
from ..errors import ProviderError
from .http.errors import HttpStatusError
from .http.events import ServerSentEvent
from .http.messages import HttpRequest, read_json
from .http.transport import HttpStream
from .http.urls import join_url
from .http_llm import HttpLlm
from .llm_request import LlmRequest
from .openai_errors_llm import OpenAIErrorsLlm
from .retry_after import retry_after
from .wire.faults import BadAnswer
from .wire.openai_errors import said_by, status_of
from .wire.reading import fields_of
from .wire.surrogates import SplitPairs

_DONE = "[DONE]"


class OpenAIApiLlm(HttpLlm, OpenAIErrorsLlm):
    """A model behind an OpenAI-compatible API.

    Attributes:
      extra_body: further fields of each request, under the API's names; lists of `tools` are added
        to the request's own. `config.http_options` of a request adds its `extra_body` and
        `headers`.
    """

    sdk_package: ClassVar[str] = "openai"

    extra_body: dict[str, Any] = Field(default_factory=dict)

    def _with_extras(self, body: dict[str, Any], config: types.GenerateContentConfig) -> None:
        """Add the further fields to a request's body."""
        options = config.http_options
        for extra in (self.extra_body, (options and options.extra_body) or {}):
            tools = [*body.get("tools", ()), *cast(list[Any], extra.get("tools") or [])]
            body |= extra
            if tools:
                body["tools"] = tools

    def _request_to(self, path: str, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        """Return the request that posts a body to a path of the API."""
        return self._http_request(
            join_url(self._place() or "", path), body, llm_request, self.provider.headers
        )

    async def _ask(
        self, path: str, body: dict[str, Any], llm_request: LlmRequest
    ) -> dict[str, Any]:
        """Post a body, and return the fields of the complete response."""
        async with self._transport.stream(self._request_to(path, body, llm_request)) as answer:
            return await self._whole(answer)

    async def _whole(self, answer: HttpStream) -> dict[str, Any]:
        """Return the fields of a response that is not streamed."""
        return self._check_answer(read_json((await answer.read()).body))

    async def _events(self, answer: HttpStream) -> AsyncGenerator[dict[str, Any], None]:
        """Return the events of a response as JSON objects.

        A server that cannot stream answers with one object, which is the only event.
        """
        if not answer.content_type.startswith("text/event-stream"):
            whole = await answer.read()
            is_json = "json" in answer.content_type
            return _yield_one(self._check_answer(read_json(whole.body) if is_json else whole.text))
        pairs = SplitPairs()

        def read(event: ServerSentEvent) -> dict[str, Any] | None:
            return self._check_answer(read_json(event.data, pairs)) if event.data.strip() else None

        return answer.read_events(read, end=_DONE)

    def _check_answer(self, answer: object) -> dict[str, Any]:
        """Return the fields of a response.

        Raises:
          BadAnswer: the response is not an object.
          ProviderError: the body reports an error although the status does not.
        """
        fields = fields_of(answer)
        if not fields:
            raise BadAnswer(answer if isinstance(answer, str) else f"it is {answer!r:.200}")
        error = fields.get("error")
        if error and fields.get("object") != "response":
            inner = fields_of(error)
            if not inner and not isinstance(error, str):
                raise BadAnswer(f"its error is {error!r:.200}")
            text = str(inner.get("message") or error)
            code = inner.get("code") or inner.get("type")
            raise self._make_api_error(status_of(code, 500), text, f"{text} {code}")
        return fields

    def _explain_status(self, error: HttpStatusError) -> ProviderError:
        message, hints = said_by(_json_or_text(error))
        return self._make_api_error(
            error.status, message or error.text, f"{hints} {message}", retry_after(error.headers)
        )


async def _yield_one(event: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    yield event


def _json_or_text(error: HttpStatusError) -> object:
    try:
        return read_json(error.body)
    except BadAnswer:
        return error.text
