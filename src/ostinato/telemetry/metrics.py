"""OpenTelemetry's GenAI metrics of model calls, where the program itself uses OpenTelemetry."""

from __future__ import annotations

import sys
from typing import Any

_SCOPE = "ostinato"
_LABELS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
)
_DURATION = "gen_ai.client.operation.duration"
_TOKENS = "gen_ai.client.token.usage"
_FIRST = "gen_ai.client.operation.time_to_first_chunk"

# The instruments of one meter provider; another provider gets its own.
_made: dict[int, dict[str, Any]] = {}


def is_counted() -> bool:
    """Tell whether the program itself reads metrics with OpenTelemetry."""
    return _instruments() is not None


def count_call(attributes: dict[str, Any], seconds: float, error: BaseException | None) -> None:
    """Record duration, tokens and time to the first chunk of a model call.

    Args:
      attributes: the attributes of its span.
      seconds: how long it took.
      error: what it raised.
    """
    instruments = _instruments()
    if instruments is None:
        return
    labels = {name: attributes[name] for name in _LABELS if name in attributes}
    if error is not None:
        labels["error.type"] = type(error).__name__
    instruments[_DURATION].record(seconds, labels)
    for kind in ("input", "output"):
        tokens = attributes.get(f"gen_ai.usage.{kind}_tokens")
        if tokens is not None:
            instruments[_TOKENS].record(tokens, {**labels, "gen_ai.token.type": kind})
    first = attributes.get("gen_ai.response.time_to_first_chunk")
    if first is not None:
        instruments[_FIRST].record(first, labels)


def _instruments() -> dict[str, Any] | None:
    """Return the instruments, or None where nobody reads metrics."""
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    provider = metrics.get_meter_provider()
    if type(provider).__name__ == "_ProxyMeterProvider":  # the API's own, which records nothing
        return None
    made = _made.get(id(provider))
    if made is None:
        meter = provider.get_meter(_SCOPE)
        made = _made[id(provider)] = {
            _DURATION: meter.create_histogram(_DURATION, "s", "Duration of model calls"),
            _TOKENS: meter.create_histogram(_TOKENS, "{token}", "Tokens of model calls"),
            _FIRST: meter.create_histogram(_FIRST, "s", "Time to the first chunk of model calls"),
        }
    return made
