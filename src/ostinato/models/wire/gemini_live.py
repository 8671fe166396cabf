"""Settings and messages of Gemini's live API, for the Gemini adapter and its live connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from ... import types
from ..llm_request import LlmRequest
from ..llm_response import LlmResponse
from .faults import Unsendable
from .gemini_request import camel_name, plain, refuse_foreign_fields, setting_json
from .live_turn import LiveTurn
from .reading import fields_of

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


_USAGE_OF_VERTEX = {
    "candidatesTokenCount": "responseTokenCount",
    "candidatesTokensDetails": "responseTokensDetails",
}
# Settings of a session that stand among the generation settings of its setup.
_GENERATION = (
    "response_modalities",
    "temperature",
    "top_p",
    "top_k",
    "max_output_tokens",
    "media_resolution",
    "seed",
    "speech_config",
    "thinking_config",
    "enable_affective_dialog",
    "translation_config",
)


def live_settings(
    llm_request: LlmRequest, speech: types.SpeechConfig | None, *, seeds_history: bool
) -> dict[str, Any]:
    """Return the settings of a session: fields of a `types.LiveConnectConfig`.

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


def live_setup(config: types.LiveConnectConfig, *, developer: bool) -> dict[str, Any]:
    """Return the setup that opens a session, without the model.

    Args:
      config: the settings.
      developer: whether the Gemini Developer API gets it.

    Raises:
      Unsendable: the service does not take one of the settings.
    """
    given = config.generation_config
    generation: dict[str, Any] = setting_json("generation_config", given) if given else {}
    setup: dict[str, Any] = {}
    for name in config.model_fields_set - {"http_options", "generation_config"}:
        if (value := getattr(config, name)) is not None:
            place = generation if name in _GENERATION else setup
            place[camel_name(name)] = setting_json(name, value)
    if not developer:
        generation.setdefault("responseModalities", ["AUDIO"])
    if generation:
        setup["generationConfig"] = generation
    if developer and "explicitVadSignal" in setup:
        raise Unsendable("explicit_vad_signal: only Vertex AI has it. Change the RunConfig.")
    refuse_foreign_fields(setup, developer=developer)
    return setup


def realtime_json(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return realtime input as JSON; bytes become base64."""
    return {
        camel_name(name): to_jsonable_python(value, bytes_mode="base64", exclude_none=True)
        for name, value in one.items()
    }


def rename_usage_of_vertex(message: dict[str, Any]) -> None:
    """Give the token counts of a message the names that the Developer API has for them."""
    usage = fields_of(message.get("usageMetadata"))
    for theirs, ours in _USAGE_OF_VERTEX.items():
        if theirs in usage:
            usage[ours] = usage.pop(theirs)


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
    """Yield the responses for a server message.

    Args:
      message: a LiveServerMessage of the SDK.
      turn: what has been said so far.
    """
    if message.usage_metadata is not None:
        yield turn.response(usage_metadata=_usage(message.usage_metadata))
    if message.server_content is not None:
        yield from _read_content(message.server_content, turn)
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


def _read_content(content: Any, turn: LiveTurn) -> Iterator[LlmResponse]:
    """Yield the responses for the content of a message."""
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
