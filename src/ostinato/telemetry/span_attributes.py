"""google-adk's functions that set attributes of OpenTelemetry spans, for programs that call them.

The runtime's own spans are in `tracing`, with the attributes of OpenTelemetry's conventions.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from .. import types
from .._optional import need
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .context import TelemetryConfig
from .model_call import redact_value

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from ..context.invocation import InvocationContext
    from ..events.event import Event


_EXTRA = "otel"
_SYSTEM = "gcp.vertex.agent"
_NOT_KNOWN = "<not specified>"
_TOOL = "execute_tool"

tracer: Tracer = need("opentelemetry.trace", extra=_EXTRA).get_tracer("ostinato")
otel_logger: Any = need("opentelemetry._logs", extra=_EXTRA).get_logger("ostinato")


class GenerateContentSpan:
    """The span of a model call.

    Args:
      span: of OpenTelemetry.
    """

    def __init__(self, span: Span) -> None:
        self.span = span


def trace_call_llm(
    invocation_context: InvocationContext,
    event_id: str,
    llm_request: LlmRequest,
    llm_response: LlmResponse,
    span: Span | None = None,
) -> None:
    """Note a model call in a span.

    Args:
      invocation_context: the run that made it.
      event_id: of the response's event.
      llm_request: what was sent; bytes of media are left out.
      llm_response: what was answered.
      span: the span; by default the current one.
    """
    config, noted = llm_request.config, _wants_content(invocation_context)
    attributes: dict[str, Any] = {
        "gen_ai.system": _SYSTEM,
        "gen_ai.request.model": llm_request.model,
        "gen_ai.request.top_p": config.top_p,
        "gen_ai.request.max_tokens": config.max_output_tokens,
        f"{_SYSTEM}.invocation_id": invocation_context.invocation_id,
        f"{_SYSTEM}.session_id": invocation_context.session.id,
        f"{_SYSTEM}.event_id": event_id,
        f"{_SYSTEM}.llm_request": _to_text(_request_record(llm_request) if noted else {}),
        f"{_SYSTEM}.llm_response": _to_text(_to_record(llm_response) if noted else {}),
    }
    _set_attributes(_current_span(span), {**attributes, **_result_attributes(llm_response)})


def trace_tool_call(
    tool: Any,
    args: dict[str, Any],
    function_response_event: Event | None,
    error: Exception | None = None,
    span: Span | None = None,
    error_type: str | None = None,
    invocation_context: InvocationContext | None = None,
) -> None:
    """Note a tool call in a span.

    Args:
      tool: the BaseTool that was called.
      args: by parameter name.
      function_response_event: holds the response, or None.
      error: what the tool raised.
      span: the span; by default the current one.
      error_type: of an error that the tool answered with; `error` goes before it.
      invocation_context: the run, whose settings say whether contents are noted.
    """
    noted = _wants_content(invocation_context)
    responses = function_response_event.get_function_responses() if function_response_event else []
    answer = responses[0] if responses else types.FunctionResponse()
    response: Any = answer.response
    if response is None:
        response = {"result": _NOT_KNOWN}
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": _TOOL,
        "gen_ai.tool.description": tool.description,
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": type(tool).__name__,
        "gen_ai.tool.call.id": answer.id or _NOT_KNOWN,
        "error.type": type(error).__name__ if error is not None else error_type,
        f"{_SYSTEM}.event_id": function_response_event.id if function_response_event else None,
        f"{_SYSTEM}.llm_request": "{}",
        f"{_SYSTEM}.llm_response": "{}",
        f"{_SYSTEM}.tool_call_args": _to_text(args if noted else {}),
        f"{_SYSTEM}.tool_response": _to_text(response if noted else {}),
    }
    _set_attributes(_current_span(span), attributes)


def trace_merged_tool_calls(
    response_event_id: str,
    function_response_event: Event,
    invocation_context: InvocationContext | None = None,
) -> None:
    """Note the responses of one step's tool calls, merged into one event, in the current span.

    Args:
      response_event_id: of the merged event.
      function_response_event: the merged event.
      invocation_context: the run, whose settings say whether contents are noted.
    """
    noted = _wants_content(invocation_context)
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": _TOOL,
        "gen_ai.tool.name": "(merged tools)",
        "gen_ai.tool.description": "(merged tools)",
        "gen_ai.tool.call.id": response_event_id,
        f"{_SYSTEM}.event_id": response_event_id,
        f"{_SYSTEM}.llm_request": "{}",
        f"{_SYSTEM}.llm_response": "{}",
        f"{_SYSTEM}.tool_call_args": "N/A",
        f"{_SYSTEM}.tool_response": _to_text(_to_record(function_response_event) if noted else {}),
    }
    _set_attributes(_current_span(), attributes)


def trace_send_data(
    invocation_context: InvocationContext, event_id: str, data: list[types.Content]
) -> None:
    """Note what is sent to a live model in the current span.

    Args:
      invocation_context: the run.
      event_id: of the event that it belongs to.
      data: what is sent.
    """
    noted = _wants_content(invocation_context)
    sent = _to_text([_to_record(content) for content in data] if noted else {})
    attributes = {
        f"{_SYSTEM}.invocation_id": invocation_context.invocation_id,
        f"{_SYSTEM}.event_id": event_id,
        f"{_SYSTEM}.data": sent,
    }
    _set_attributes(_current_span(), attributes)


def trace_agent_invocation(span: Span, agent: Any, ctx: InvocationContext) -> None:
    """Note in a span which agent runs.

    Args:
      span: the span.
      agent: the agent.
      ctx: its run.
    """
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.description": agent.description,
        "gen_ai.agent.name": agent.name,
        "gen_ai.conversation.id": ctx.session.id,
    }
    _set_attributes(span, attributes)


def trace_generate_content_result(span: Span | None, llm_response: LlmResponse) -> None:
    """Note in a span how a model call ended; a partial response is ignored.

    Args:
      span: the span; nothing is noted if it is None.
      llm_response: what was answered.
    """
    if span is not None and not llm_response.partial:
        _set_attributes(span, _result_attributes(llm_response))


def trace_inference_result(
    invocation_context: InvocationContext | None,
    span: Span | GenerateContentSpan | None,
    llm_response: LlmResponse,
) -> None:
    """Note in the span of `use_inference_span` how the model call ended.

    Args:
      invocation_context: the run, or None.
      span: the span; nothing is noted if it is None.
      llm_response: what was answered.
    """
    trace_generate_content_result(
        span.span if isinstance(span, GenerateContentSpan) else span, llm_response
    )


@contextmanager
def use_generate_content_span(
    llm_request: LlmRequest, invocation_context: InvocationContext, model_response_event: Event
) -> Generator[Span]:
    """Open the span `generate_content MODEL` for the length of a `with` block.

    Args:
      llm_request: what is sent.
      invocation_context: the run.
      model_response_event: the event that the response will fill.
    """
    attributes = {
        "gen_ai.system": "gemini",
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": llm_request.model or "",
        "gen_ai.agent.name": invocation_context.agent.name,
        "gen_ai.conversation.id": invocation_context.session.id,
        f"{_SYSTEM}.event_id": model_response_event.id,
        f"{_SYSTEM}.invocation_id": invocation_context.invocation_id,
    }
    with tracer.start_as_current_span(f"generate_content {llm_request.model or ''}") as span:
        _set_attributes(span, attributes)
        yield span


@asynccontextmanager
async def use_inference_span(
    llm_request: LlmRequest, invocation_context: InvocationContext, model_response_event: Event
) -> AsyncGenerator[GenerateContentSpan]:
    """Open the span `generate_content MODEL` for the length of an `async with` block.

    Args:
      llm_request: what is sent.
      invocation_context: the run.
      model_response_event: the event that the response will fill.
    """
    with use_generate_content_span(llm_request, invocation_context, model_response_event) as span:
        yield GenerateContentSpan(span)


def _current_span(span: Span | None = None) -> Span:
    return span or need("opentelemetry.trace", extra=_EXTRA).get_current_span()


def _set_attributes(span: Span, attributes: Mapping[str, Any]) -> None:
    span.set_attributes({name: value for name, value in attributes.items() if value is not None})


def _wants_content(context: InvocationContext | None) -> bool:
    given = getattr(getattr(context, "run_config", None), "telemetry", None)
    config = given if isinstance(given, TelemetryConfig) else TelemetryConfig()
    return config.should_add_content_to_legacy_spans


def _result_attributes(response: LlmResponse) -> dict[str, Any]:
    """Return the attributes of a model call's result."""
    found: dict[str, Any] = {}
    if response.finish_reason is not None:
        found["gen_ai.response.finish_reasons"] = [response.finish_reason.value.lower()]
    usage = response.usage_metadata
    if usage is None:
        return found
    written, thought = usage.candidates_token_count, usage.thoughts_token_count
    found["gen_ai.usage.input_tokens"] = usage.prompt_token_count
    if written is not None or thought is not None:
        found["gen_ai.usage.output_tokens"] = (written or 0) + (thought or 0)
    found["gen_ai.usage.cache_read.input_tokens"] = usage.cached_content_token_count
    found["gen_ai.usage.reasoning.output_tokens"] = thought
    return found


def _request_record(request: LlmRequest) -> dict[str, Any]:
    """Return a request as JSON, without the bytes of its media."""
    contents: list[Any] = []
    for content in request.contents:
        kept = [part for part in content.parts or () if part.inline_data is None]
        contents.append(_to_record(types.Content(role=content.role, parts=kept)))
    config = request.config.model_dump(
        mode="json", exclude_none=True, exclude={"response_schema"}, fallback=repr
    )
    return {"model": request.model, "config": config, "contents": contents}


def _to_record(record: Any) -> Any:
    return record.model_dump(mode="json", exclude_none=True, fallback=repr)


def _to_text(value: Any) -> str:
    return json.dumps(redact_value(value), ensure_ascii=False, default=_describe_unknown)


def _describe_unknown(value: object) -> str:
    return "<not serializable>"
