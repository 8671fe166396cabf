"""OpenAIApiLlm: what both adapters over OpenAI's SDK share: one client, one way to post."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, cast

from pydantic import Field, PrivateAttr

from .. import types
from .._optional import need
from .client_per_loop import ClientPerLoop
from .llm_request import LlmRequest
from .openai_errors_llm import OpenAIErrorsLlm
from .response_bound import bound_response
from .wire.faults import BadAnswer
from .wire.openai_errors import status_of
from .wire.reading import fields_of

_CONNECT_S = 10.0


class OpenAIApiLlm(OpenAIErrorsLlm):
    """A model behind an API of OpenAI's kind.

    Attributes:
      extra_body: further fields of each request, under the API's names; lists of `tools` are added
        to the request's own. `config.http_options` of a request adds its `extra_body` and
        `headers`.
    """

    extra_body: dict[str, Any] = Field(default_factory=dict)

    _clients: ClientPerLoop[Any] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the place for clients; none is opened before the first request."""
        super().model_post_init(context)
        self._clients = ClientPerLoop(self._open, lambda client: client.close())

    async def aclose(self) -> None:
        """Close the running loop's client."""
        await self._clients.aclose()

    def _open(self) -> Any:
        """Open a client, without the SDK's own retries."""
        sdk = need("openai", extra="openai")
        return sdk.AsyncOpenAI(
            api_key=self._login(),
            base_url=self._place(),
            timeout=sdk.Timeout(self.timeout, connect=min(self.timeout, _CONNECT_S)),
            max_retries=0,
            http_client=sdk.DefaultAsyncHttpxClient(event_hooks={"response": [bound_response]}),
        )

    def _with_extras(self, body: dict[str, Any], config: types.GenerateContentConfig) -> None:
        """Add the further fields to a request's body."""
        options = config.http_options
        for extra in (self.extra_body, (options and options.extra_body) or {}):
            tools = [*body.get("tools", ()), *cast(list[Any], extra.get("tools") or [])]
            body |= extra
            if tools:
                body["tools"] = tools

    async def _post(self, path: str, body: dict[str, Any], llm_request: LlmRequest) -> Any:
        """Send a request and return the answer's JSON.

        The SDK gets bytes through its open door: its methods for an API would walk through the
        whole history once more.
        """
        answer = await self._clients.get().post(
            path, content=_bytes(body), cast_to=object, options=_options(llm_request)
        )
        return self._checked(answer)

    async def _stream(
        self, path: str, body: dict[str, Any], llm_request: LlmRequest
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send a request and yield the events of its answer as JSON objects.

        A server that cannot stream answers with one object, which is yielded.
        """
        sdk = need("openai", extra="openai")
        events = await self._clients.get().post(
            path,
            content=_bytes(body),
            cast_to=object,
            options=_options(llm_request),
            stream=True,
            stream_cls=sdk.AsyncStream[object],
        )
        async with events:
            kind = events.response.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                text = (await events.response.aread()).decode("utf-8", "replace")
                yield self._checked(json.loads(text) if "json" in kind else text)
                return
            async for event in events:
                yield self._checked(event)

    def _checked(self, answer: object) -> dict[str, Any]:
        """Return an answer's fields.

        Raises:
          BadAnswer: it is no object.
          ProviderError: it tells of an error although its status does not.
        """
        fields = fields_of(answer)
        if not fields:
            raise BadAnswer(answer if isinstance(answer, str) else f"it is {answer!r:.200}")
        error = fields.get("error")
        if error and fields.get("object") != "response":
            inner = fields_of(error)
            text = str(inner.get("message") or error)
            code = inner.get("code") or inner.get("type")
            raise self._said(status_of(code, 500), text, f"{text} {code}")
        return fields


def _bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _options(llm_request: LlmRequest) -> dict[str, Any]:
    options = llm_request.config.http_options
    given = (options and options.headers) or {}
    return {"headers": {"content-type": "application/json", **given}}
