"""Requests to Gemini's interactions API, which continue an interaction stored by the service. The
Gemini adapter uses them if `use_interactions_api` is set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from .. import types
from .._absences import refuse_absent
from .._aclosing import Aclosing
from ..errors import ModelAnswerError, ModelRequestError
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .request_text import instruction_text
from .wire.call_ids import with_call_ids
from .wire.faults import BadAnswer
from .wire.gemini_request import plain
from .wire.interaction_steps import (
    StepPieces,
    citations,
    input_steps,
    output_parts,
)
from .wire.interaction_steps import (
    convert_part_to_interaction_content as convert_part_to_interaction_content,
)

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


Read = TypeVar("Read")

_TOOLS = ("google_search", "code_execution", "url_context", "google_maps", "file_search")
_FAILED = ("failed", "cancelled", "budget_exceeded")
_USAGE = {
    "prompt_token_count": "total_input_tokens",
    "cached_content_token_count": "total_cached_tokens",
    "candidates_token_count": "total_output_tokens",
    "thoughts_token_count": "total_thought_tokens",
    "tool_use_prompt_token_count": "total_tool_use_tokens",
    "total_token_count": "total_tokens",
}


async def generate_content_via_interactions(
    api_client: Any, llm_request: LlmRequest, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """Answer a request with an interaction (FEATURES row 214).

    Args:
      api_client: a `GeminiClient`, or a `google.genai.Client`.
      llm_request: the request; with a `previous_interaction_id` only what was said since is sent.
      stream: whether to yield partial responses first.

    Yields:
      Responses with the interaction's id, which the next request continues.

    Raises:
      ModelRequestError: the request holds a tool that the API does not take.
      ModelAnswerError: the stream ended before the interaction did, or the service broke it off.
    """
    wanted: dict[str, Any] = {
        "model": llm_request.model,
        "input": input_steps(with_call_ids(_since_last_answer(llm_request))),
        "system_instruction": extract_system_instruction(llm_request.config),
        "tools": convert_tools_config_to_interactions_format(llm_request.config),
        "generation_config": build_generation_config(llm_request.config),
        "response_format": _response_format(llm_request.config),
        "previous_interaction_id": llm_request.previous_interaction_id,
    }
    arguments = {name: value for name, value in wanted.items() if value}
    create = api_client.aio.interactions.create
    if not stream:
        yield convert_interaction_to_llm_response(await create(**arguments))
        return
    events = await create(**arguments, stream=True)
    async with Aclosing(_pieces(events)) as responses:
        async for response in responses:
            yield response


async def _pieces(events: Any) -> AsyncGenerator[LlmResponse, None]:
    """Yield the partial responses of a stream, then the complete response."""
    streamed = _StreamedInteraction()
    async with events as received:
        async for event in received:
            response = _read(streamed.add, event)
            if response is not None:
                yield response
                if not response.partial:
                    return
    raise ModelAnswerError("the stream ended before the answer did")


class _StreamedInteraction:
    """An interaction that is received as a stream of events."""

    def __init__(self) -> None:
        self._pieces, self._id = StepPieces(), None

    def add(self, event: Any) -> LlmResponse | None:
        """Add an event; return its partial response, or the complete one at the end.

        Raises:
          ModelAnswerError: the event is an error.
        """
        found = _plain(event)
        found = found.get("data", found)
        kind = found.get("event_type")
        interaction: dict[str, Any] = found.get("interaction") or {}
        self._id = interaction.get("id") or self._id
        if kind == "step.start":
            self._pieces.start(found["index"], found["step"])
        elif kind == "step.delta":
            part = self._pieces.add(found["index"], found["delta"])
            if part is not None:
                content = types.Content(role="model", parts=[part])
                return LlmResponse(partial=True, content=content, interaction_id=self._id)
        elif kind == "error":
            problem: dict[str, Any] = found.get("error") or {}
            raise ModelAnswerError(str(problem.get("message") or problem.get("code")))
        elif kind == "interaction.completed":
            steps = [self._pieces.steps[index] for index in sorted(self._pieces.steps)]
            whole = {**interaction, "id": self._id}
            return _response({**whole, "steps": steps or interaction.get("steps") or []})
        return None


def _read(read: Callable[[Any], Read], value: Any) -> Read:
    """Return the result of `read` for a response.

    Raises:
      BadAnswer: the response is malformed.
    """
    try:
        return read(value)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadAnswer(f"no interaction of the API: {type(error).__name__}: {error}") from None


def convert_interaction_to_llm_response(interaction: Any) -> LlmResponse:
    """Return an interaction, the SDK's object or a dict, as a response.

    Raises:
      BadAnswer: the interaction is malformed.
    """
    return _read(_response, _plain(interaction))


def _response(interaction: Mapping[str, Any]) -> LlmResponse:
    steps: list[dict[str, Any]] = interaction.get("steps") or []
    parts, status = output_parts(steps), interaction.get("status")
    response = LlmResponse(
        content=types.Content(role="model", parts=parts) if parts else None,
        partial=False,
        interaction_id=interaction.get("id"),
        model_version=interaction.get("model"),
        usage_metadata=_usage(interaction.get("usage")),
        citation_metadata=citations(steps),
        finish_reason=types.FinishReason.STOP,
    )
    if status in _FAILED:
        response.finish_reason = types.FinishReason.OTHER
        none: dict[str, Any] = {}
        error: dict[str, Any] = next((s["error"] for s in steps if s.get("error")), none)
        response.error_code = str(status).upper()
        response.error_message = error.get("message") or f"The interaction is {status}."
    elif status == "incomplete":
        response.finish_reason = types.FinishReason.MAX_TOKENS
        if not parts:
            response.error_code = types.FinishReason.MAX_TOKENS
    return response


def _usage(usage: Mapping[str, Any] | None) -> types.GenerateContentResponseUsageMetadata | None:
    if not usage:
        return None
    counts = {ours: usage.get(theirs) for ours, theirs in _USAGE.items()}
    return types.GenerateContentResponseUsageMetadata.model_validate(counts)


def _since_last_answer(llm_request: LlmRequest) -> Sequence[types.Content]:
    """Return the contents that the service does not have: those after its last answer, or all."""
    contents = llm_request.contents
    if not llm_request.previous_interaction_id:
        return contents
    start = len(contents)
    while start and contents[start - 1].role != "model":
        start -= 1
    return contents[start:] or contents[-1:]


def extract_system_instruction(config: types.GenerateContentConfig) -> str | None:
    """Return the instruction's text, or None."""
    return instruction_text(config) or None


def convert_tools_config_to_interactions_format(
    config: types.GenerateContentConfig,
) -> list[dict[str, Any]]:
    """Return the tools of a request as the API takes them.

    Raises:
      ModelRequestError: the API does not take one of them.
    """
    tools: list[dict[str, Any]] = []
    for tool in cast(list[Any], config.tools or []):
        declarations = getattr(tool, "function_declarations", None) or ()
        tools += [_function(declaration) for declaration in declarations]
        present = [name for name in _TOOLS if getattr(tool, name, None) is not None]
        tools += [{"type": name, **(plain(getattr(tool, name)) or {})} for name in present]
        if not present and not declarations:
            raise ModelRequestError(
                f"The interactions API of Gemini does not take this tool: {tool!r}. Leave "
                "use_interactions_api off, or the tool out.",
                provider="google",
            )
    return tools


def _function(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "function", "name": declaration.name}
    if declaration.description:
        found["description"] = declaration.description
    if declaration.parameters_json_schema is not None:
        found["parameters"] = declaration.parameters_json_schema
    elif declaration.parameters is not None:
        found["parameters"] = declaration.parameters.json_schema.to_json_values()
    return found


def build_generation_config(config: types.GenerateContentConfig) -> dict[str, Any]:
    """Return the settings of a request that the API knows."""
    names = ("temperature", "top_p", "seed", "max_output_tokens", "stop_sequences")
    found = {name: getattr(config, name) for name in names}
    thinking = config.thinking_config
    if thinking is not None:
        level = thinking.thinking_level
        found["thinking_level"] = level.value.lower() if level is not None else None
        found["thinking_summaries"] = "auto" if thinking.include_thoughts else None
    return {name: value for name, value in found.items() if value is not None}


def _response_format(config: types.GenerateContentConfig) -> dict[str, Any] | None:
    """Return the schema of the answer as the API takes it, or None."""
    schema: Any = config.response_json_schema
    wanted: Any = config.response_schema
    if schema is None and isinstance(wanted, types.Schema):
        schema = wanted.json_schema.to_json_values()
    elif schema is None and wanted is not None:
        schema = wanted
        if not isinstance(wanted, Mapping):
            schema = TypeAdapter[Any](wanted).json_schema()
    if schema is None:
        return None
    return {"type": "text", "mime_type": "application/json", "schema": schema}


def _plain(value: Any) -> dict[str, Any]:
    """Return an object of the SDK as a dict."""
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    return value.model_dump(mode="json", exclude_none=True)
