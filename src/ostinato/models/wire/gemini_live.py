"""Settings and messages of Gemini's live API as google-genai takes and gives them. The Gemini
adapter and its live connection use these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import types
from ..llm_request import LlmRequest
from ..llm_response import LlmResponse
from .gemini_settings import plain
from .live_turn import LiveTurn

# Generation settings that a live session has too.
_SHARED = (
    "system_instruction",
    "tools",
    "temperature",
    "top_p",
    "top_k",
    "max_output_tokens",
    "media_resolution",
    "seed",
    "speech_config",
    "thinking_config",
    "safety_settings",
)


def live_settings(
    llm_request: LlmRequest, speech: types.SpeechConfig | None, *, seeds_history: bool
) -> dict[str, Any]:
    """Return the settings of a session as the SDK's `config` argument.

    Args:
      llm_request: the request.
      speech: the model's own voice, where the run names none.
      seeds_history: whether the service has to be told that history comes first.
    """
    live, config = llm_request.live_connect_config, llm_request.config
    fields: dict[str, Any] = {}
    for name in _SHARED:
        value = getattr(live, name)
        value = getattr(config, name) if value is None else value
        if value is not None:
            fields[name] = plain(value)
    for name in live.model_fields_set - fields.keys():
        value = getattr(live, name)
        if value is not None:
            fields[name] = plain(value)
    if speech is not None and live.speech_config is None:
        fields["speech_config"] = plain(speech)
    resumes = live.session_resumption is not None and live.session_resumption.handle
    if seeds_history and llm_request.contents and not resumes:
        fields.setdefault("history_config", {"initial_history_in_client_content": True})
    return fields


def without_sound(history: Sequence[types.Content]) -> list[types.Content]:
    """Return a history without inline sound, which the service does not take as history."""
    kept: list[types.Content] = []
    for content in history:
        parts = [part for part in content.parts or () if not _is_sound(part)]
        if len(parts) == len(content.parts or ()):
            kept.append(content)
        elif parts:
            kept.append(types.Content(role=content.role, parts=parts))
    return [content for content in kept if content.parts]


def _is_sound(part: types.Part) -> bool:
    blob = part.inline_data
    return blob is not None and (blob.mime_type or "").startswith("audio/")


def as_one_text(history: Sequence[types.Content]) -> types.Content:
    """Return a history as one message, for models that take none in turns."""
    lines = [
        f"[{content.role}]: {part.text}"
        for content in history
        for part in content.parts or ()
        if part.text
    ]
    text = "\n".join(["Previous conversation history:", *lines])
    return types.Content(role="user", parts=[types.Part(text=text)])


def responses_of(message: Any, turn: LiveTurn) -> Iterator[LlmResponse]:
    """Yield what a message of the server says.

    Args:
      message: a LiveServerMessage of the SDK.
      turn: what has been said so far.
    """
    if message.usage_metadata is not None:
        yield turn.response(usage_metadata=_usage(message.usage_metadata))
    if message.server_content is not None:
        yield from _said(message.server_content, turn)
    if message.tool_call is not None and message.tool_call.function_calls:
        calls = [
            types.FunctionCall(id=call.id, name=call.name, args=call.args or {})
            for call in message.tool_call.function_calls
        ]
        yield from turn.calls(calls)
    update = message.session_resumption_update
    if update is not None:
        yield turn.response(
            live_session_resumption_update=types.LiveServerSessionResumptionUpdate.model_validate(
                update
            )
        )
    if message.go_away is not None:
        yield turn.response(go_away=types.LiveServerGoAway(time_left=message.go_away.time_left))


def _said(content: Any, turn: LiveTurn) -> Iterator[LlmResponse]:
    """Yield what the content of a message says."""
    if content.input_transcription is not None:
        said = content.input_transcription
        yield from turn.heard(said.text, said.finished)
    if content.output_transcription is not None:
        said = content.output_transcription
        yield from turn.spoken(said.text, said.finished)
    grounding: types.GroundingMetadata | None = None
    if content.grounding_metadata is not None:
        grounding = types.GroundingMetadata.model_validate(content.grounding_metadata)
        turn.ground(grounding)
    pieces = 0
    for part in (content.model_turn.parts if content.model_turn is not None else None) or ():
        pieces += 1
        if part.text:
            yield from turn.text(part.text, thought=bool(part.thought))
        elif part.inline_data is not None:
            yield turn.sound(part.inline_data.data or b"", part.inline_data.mime_type)
        elif part.text is None:
            yield from turn.end_text()
            other = types.Part.model_validate(part)
            yield turn.response(content=types.Content(role="model", parts=[other]))
    if grounding is not None and not pieces:
        yield turn.response(grounding_metadata=grounding)
    if content.generation_complete and not content.turn_complete:
        yield from turn.end_transcriptions()
    if content.interrupted or content.turn_complete:
        yield from turn.end(
            complete=bool(content.turn_complete),
            interrupted=bool(content.interrupted),
            reason=_reason(content.turn_complete_reason),
        )


def _reason(reason: Any) -> types.TurnCompleteReason | None:
    return None if reason is None else types.TurnCompleteReason(getattr(reason, "value", reason))


def _usage(usage: Any) -> types.GenerateContentResponseUsageMetadata:
    """Return the counts under the names that all other answers have."""
    fields = {
        "prompt_token_count": usage.prompt_token_count,
        "cached_content_token_count": usage.cached_content_token_count,
        "candidates_token_count": usage.response_token_count,
        "tool_use_prompt_token_count": usage.tool_use_prompt_token_count,
        "thoughts_token_count": usage.thoughts_token_count,
        "total_token_count": usage.total_token_count,
        "prompt_tokens_details": usage.prompt_tokens_details,
        "cache_tokens_details": usage.cache_tokens_details,
        "candidates_tokens_details": usage.response_tokens_details,
    }
    return types.GenerateContentResponseUsageMetadata.model_validate(
        {name: value for name, value in fields.items() if value is not None}
    )
