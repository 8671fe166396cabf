"""What the errors of OpenAI's APIs mean: codes as HTTP statuses, and remedies. Adapters whose SDK
raises them read them here.
"""

from __future__ import annotations

from typing import Any

from .reading import fields_of, text_of

_STATUS = {
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "server_error": 500,
    "internal_error": 500,
    "overloaded_error": 503,
    "vector_store_timeout": 504,
}
_TOO_LONG = (
    "context_length_exceeded",
    "string_above_max_length",
    "maximum context length",
    "context window",
    "exceed_context_size",
    "prompt is too long",
)
_QUOTA = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit balance",
    "your current quota",
)
_SCHEMA = ("response_format", "json_schema", "text.format", "invalid schema", "function_parameters")


def status_of(code: object, default: int) -> int:
    """Return the HTTP status that an error's code stands for."""
    text = str(code)
    if text.isdecimal() and 400 <= int(text) <= 599:
        return int(text)
    return _STATUS.get(text, default)


def is_quota(said: str) -> bool:
    """Return whether an error says that the quota is used up, so that a retry is useless."""
    return any(word in said.lower() for word in _QUOTA)


def remedy(said: str) -> str:
    """Return what to do about a refused request, going by all that was said; empty if unknown."""
    said = said.lower()
    if any(word in said for word in _TOO_LONG):
        return "The request is too long for the model: shorten or compact the session."
    if is_quota(said):
        return "The account's quota is used up: check plan and billing; waiting does not help."
    if any(word in said for word in _SCHEMA):
        return "Change the schema of the output or tool that it names, or choose another model."
    if "unsupported_parameter" in said or "unsupported_value" in said:
        return "Take that setting out of generate_content_config."
    if "image" in said or "audio" in said or "file" in said:
        return "Take that content out, or choose a model that takes it."
    return ""


def said_by(body: object) -> tuple[str, str]:
    """Return an error body's message, and all that tells what kind of error it is."""
    if isinstance(body, str):
        return body, body
    fields = fields_of(body)
    error = fields.get("error", fields)
    if isinstance(error, str):
        return error, error
    inner: dict[str, Any] = fields_of(error)
    message = text_of(inner.get("message")) or text_of(fields.get("detail"))
    hints = [message, *(str(inner.get(name) or "") for name in ("code", "type", "param"))]
    return message, " ".join(hints)
