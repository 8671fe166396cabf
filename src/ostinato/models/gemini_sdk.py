"""Requests through a program's google-genai client, and the errors of that SDK. The Gemini adapter
uses them if a program brings the client.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from .. import types
from .._aclosing import Aclosing
from .._optional import need
from .http.client import is_library_error, translate_error
from .http.errors import HttpStatusError
from .http.messages import Timeouts
from .llm_response import LlmResponse
from .streaming_response import StreamingResponseAggregator
from .wire.faults import BadAnswer, Unsendable
from .wire.gemini_request import plain

_BEGUN = ("ReadError", "RemoteProtocolError", "ReadTimeout")
_SENDING = ("generate_content", "generate_content_stream")
_NOTHING_SENT = "without sending a response"


def open_sdk_client(login: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return a `google.genai.Client` that does not retry by itself.

    Args:
      login: its arguments that say who asks.
      options: its options for HTTP.
    """
    genai = need("google.genai", extra="google")
    once = genai.types.HttpRetryOptions(attempts=1)
    return genai.Client(http_options={**options, "retry_options": once}, **login)


def is_sdk_replaced() -> bool:
    """Return whether a program has put something in the place of the SDK's client or its requests.

    Tests do so, and expect that no request leaves the process.
    """
    package, models = sys.modules.get("google.genai"), sys.modules.get("google.genai.models")
    if package is None or models is None:
        return False
    client, requests = getattr(package, "Client", None), getattr(models, "AsyncModels", None)
    if getattr(client, "__module__", "") != "google.genai.client":
        return True
    sending = (getattr(requests, name, None) for name in _SENDING)
    return any(getattr(one, "__module__", "") != models.__name__ for one in sending)


class SdkRequest(NamedTuple):
    """A request for content.

    Attributes:
      model: the model's name.
      config: the settings.
      contents: the contents as JSON.
    """

    model: str
    config: types.GenerateContentConfig
    contents: Sequence[dict[str, Any]]


async def sdk_answers(
    client: Any,
    request: SdkRequest,
    whole: StreamingResponseAggregator,
    *,
    developer: bool,
    stream: bool,
) -> AsyncGenerator[LlmResponse, None]:
    """Yield the answer to a request, or the pieces of it that `whole` makes.

    Args:
      client: the SDK's client.
      request: the request.
      whole: collects the pieces of a streamed answer.
      developer: whether the Gemini Developer API gets the request.
      stream: whether the answer is to come in pieces.
    """
    arguments: dict[str, Any] = {
        "model": request.model,
        "contents": ".",  # the SDK wants one; `sdk_settings` puts ours in its place
        "config": sdk_settings(request.config, request.contents, developer=developer),
    }
    models = client.aio.models
    if not stream:
        answer = await models.generate_content(**arguments)
        yield LlmResponse.create(types.GenerateContentResponse.model_validate(answer))
        return
    chunks = await models.generate_content_stream(**arguments)
    async with Aclosing(chunks):
        async for chunk in chunks:
            piece = whole.add(types.GenerateContentResponse.model_validate(chunk))
            if piece is not None:
                yield piece


def sdk_settings(
    config: types.GenerateContentConfig, contents: Sequence[dict[str, Any]], *, developer: bool
) -> dict[str, Any]:
    """Return settings and contents as the SDK's `config` argument.

    The contents go into `extra_body`, which the SDK sends unchanged. It would validate and convert
    its own `contents`, the whole history, at each call.

    Args:
      config: the settings.
      contents: the contents on the wire.
      developer: whether this goes to the Gemini Developer API, which takes no labels.
    """
    fields = ((name, getattr(config, name)) for name in config.model_fields_set)
    settings = {name: plain(value) for name, value in fields if value is not None}
    if developer:
        settings.pop("labels", None)
    settings["automatic_function_calling"] = {"disable": True}
    options: dict[str, Any] = settings.get("http_options") or {}
    options.pop("retry_options", None)
    options["extra_body"] = {**(options.get("extra_body") or {}), "contents": contents}
    settings["http_options"] = options
    return settings


def sdk_error_class(status: int | None) -> type[Exception] | None:
    """Return the class of the SDK's error for an HTTP status, if the program has loaded the SDK."""
    errors = sys.modules.get("google.genai.errors")
    if errors is None or status is None:
        return None
    return errors.ServerError if status >= 500 else errors.ClientError


def explain_sdk_error(error: BaseException) -> Exception | None:
    """Map an error of the SDK to a transport or wire error, or return None for other errors."""
    root, name = type(error).__module__.partition(".")[0], type(error).__name__
    if is_library_error(error) and isinstance(error, Exception):
        has_begun = name in _BEGUN and _NOTHING_SENT not in str(error)
        return translate_error(error, _url_of(error), Timeouts(), has_begun=has_begun)
    if name in ("UnknownApiResponseError", "ResponseValidationError"):
        return BadAnswer(str(error).rpartition("Raw response: ")[2])
    if isinstance(error, ValidationError) and error.title.endswith("Response"):
        wrong = (f"{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in error.errors())
        return BadAnswer("; ".join(wrong))
    if root != "google":
        return _explain_refusal(error)
    status = getattr(error, "code", None) or getattr(error, "status_code", None)
    if isinstance(status, int):
        return _status_error(error, status)
    if error.__cause__ is not None:
        return explain_sdk_error(error.__cause__)
    return None


def _explain_refusal(error: BaseException) -> Exception | None:
    """Map an error that the SDK raised for data it cannot send or read."""
    if isinstance(error, (ValueError, TypeError)) and _is_raised_in(error, "google.genai"):
        if isinstance(error, TypeError) or str(error).startswith("Failed to parse response"):
            return BadAnswer(f"google-genai cannot read a message of it: {error}")
        return Unsendable(f"by google-genai: {error} Change generate_content_config or the tools.")
    return None


def _status_error(error: Any, status: int) -> Exception:
    body: Any = getattr(error, "details", None) or getattr(error, "body", None)
    if status < 400:  # an error inside a stream may carry no status of HTTP
        return BadAnswer(str(getattr(error, "message", None) or body or error), retryable=False)
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    text = body if isinstance(body, str) else json.dumps(body or str(error), default=str)
    named = {name.lower(): value for name, value in headers.items()}
    return HttpStatusError(status, named, text.encode())


def _url_of(error: Any) -> str:
    try:
        return str(error.request.url)
    except (AttributeError, RuntimeError):  # the library raises one if it knows no request
        return ""


def _is_raised_in(error: BaseException, package: str) -> bool:
    """Return whether the innermost frame of an error's traceback lies in a package."""
    trace, module = error.__traceback__, ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return module == package or module.startswith(f"{package}.")
