"""Sessions and conversation items of OpenAI's Realtime API. The live connection sends these."""

from __future__ import annotations

import base64
import json
from typing import Any

from ... import types
from ..llm_request import LlmRequest
from ..request_text import instruction_text
from .chat_request import chosen_functions, effort_of
from .faults import Unsendable
from .json_schema import parameters_of
from .media import data_url, other_text, response_text

Item = dict[str, Any]

RATE = 24000
#: How readily speech is taken to begin, as the volume that it takes.
_THRESHOLDS = {"START_SENSITIVITY_HIGH": 0.3, "START_SENSITIVITY_LOW": 0.7}


def audio_format(mime_type: str) -> Item:
    """Return a format of sound as the API names it."""
    return {"type": mime_type, "rate": RATE} if mime_type == "audio/pcm" else {"type": mime_type}


def session_of(
    llm_request: LlmRequest, *, heard_as: str, spoken_as: str, transcriber: str
) -> dict[str, Any]:
    """Return the settings of a session.

    Args:
      llm_request: the request.
      heard_as: format of the user's sound.
      spoken_as: format of the model's.
      transcriber: the model that transcribes the user.

    Raises:
      Unsendable: the API does not accept a tool's name.
    """
    live, config = llm_request.live_connect_config, llm_request.config
    speech = live.speech_config
    if speech is None and isinstance(config.speech_config, types.SpeechConfig):
        speech = config.speech_config
    given: Item = {"format": audio_format(heard_as)}
    if live.input_audio_transcription is not None:
        given["transcription"] = {"model": transcriber}
        if speech is not None and speech.language_code:
            given["transcription"]["language"] = speech.language_code.partition("-")[0]
    detection = live.realtime_input_config
    if detection is not None:
        given["turn_detection"] = _turn_detection(detection)
    made: Item = {"format": audio_format(spoken_as)}
    voice = _voice(speech)
    if voice:
        made["voice"] = voice
    wanted = [getattr(one, "value", one) for one in live.response_modalities or ()]
    session: Item = {
        "type": "realtime",
        "output_modalities": ["text"] if wanted == ["TEXT"] else ["audio"],
        "audio": {"input": given, "output": made},
        "instructions": instruction_text(config),
    }
    functions, choice = chosen_functions(config)
    if functions:
        session["tools"] = [_function(one) for one in functions]
        if choice is not None:
            session["tool_choice"] = choice
    if config.max_output_tokens is not None:
        session["max_output_tokens"] = config.max_output_tokens
    effort = effort_of(config)
    if effort is not None:
        session["reasoning"] = {"effort": effort}
    return session


def _function(declaration: types.FunctionDeclaration) -> Item:
    return {
        "type": "function",
        "name": declaration.name,
        "description": declaration.description or "",
        "parameters": parameters_of(declaration),
    }


def _voice(speech: types.SpeechConfig | None) -> str | None:
    voice = speech.voice_config if speech is not None else None
    prebuilt = voice.prebuilt_voice_config if voice is not None else None
    return prebuilt.voice_name if prebuilt is not None else None


def _turn_detection(given: types.RealtimeInputConfig) -> Item | None:
    """Return the service's turn detection, or None if the client signals activity."""
    detection = given.automatic_activity_detection
    found: Item = {"type": "server_vad"}
    if detection is not None:
        if detection.disabled:
            return None
        start = detection.start_of_speech_sensitivity
        if start is not None and start.value in _THRESHOLDS:
            found["threshold"] = _THRESHOLDS[start.value]
        for name in ("prefix_padding_ms", "silence_duration_ms"):
            value = getattr(detection, name)
            if value is not None:
                found[name] = value
    found["interrupt_response"] = interrupts(given)
    return found


def interrupts(given: types.RealtimeInputConfig | None) -> bool:
    """Return whether speech interrupts the model."""
    return given is None or given.activity_handling is not types.ActivityHandling.NO_INTERRUPTION


def items_of(content: types.Content) -> list[Item]:
    """Return the conversation items for one content; an empty content has no items.

    Raises:
      Unsendable: a part that the API cannot carry.
    """
    items: list[Item] = []
    pieces: list[Item] = []
    for part in content.parts or ():
        if part.function_response is not None:
            items.append(output_of(part.function_response))
        elif part.function_call is not None:
            items.append(_call(part.function_call))
        elif content.role == "model":
            text = part.text if part.text is not None else other_text(part)
            if text and not part.thought:
                pieces.append({"type": "output_text", "text": text})
        else:
            pieces += _piece(part)
    if pieces:
        role = "assistant" if content.role == "model" else "user"
        items.append({"type": "message", "role": role, "content": pieces})
    return items


def output_of(response: types.FunctionResponse) -> Item:
    """Return the item that answers a call."""
    text = response_text(response)
    return {"type": "function_call_output", "call_id": response.id, "output": text}


def _call(call: types.FunctionCall) -> Item:
    arguments = json.dumps(call.args or {}, ensure_ascii=False, default=str)
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
    }


def _piece(part: types.Part) -> list[Item]:
    """Return a part of the user's as content of a message."""
    text = part.text if part.text is not None else other_text(part)
    if text is not None:
        return [{"type": "input_text", "text": text}] if text else []
    blob = part.inline_data
    if blob is not None and (blob.mime_type or "").startswith("image/"):
        return [
            {"type": "input_image", "image_url": data_url(str(blob.mime_type), blob.data or b"")}
        ]
    if blob is not None and (blob.mime_type or "").startswith("audio/"):
        audio = base64.b64encode(blob.data or b"").decode()
        return [{"type": "input_audio", "audio": audio}]
    if part.file_data is not None:  # sound that a live run saved: its transcription tells it
        if (part.file_data.mime_type or "").startswith("audio/"):
            return []
    kind = blob.mime_type if blob is not None else "a file"
    raise Unsendable(f"{kind}: a live session takes text, images and sound. Leave it out.")
