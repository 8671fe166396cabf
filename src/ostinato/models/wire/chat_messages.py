"""Contents as messages of chat completions. `chat_request` puts them into a request."""

from __future__ import annotations

import json
from typing import Any

from ... import types
from .chat_dialects import ChatDialect
from .faults import Unsendable
from .media import (
    audio_of,
    data_url,
    file_name,
    file_text,
    image_dict,
    is_text,
    other_text,
    refuse_file,
    response_media,
    response_text,
    user_pieces,
)
from .reading import signature_text

Message = dict[str, Any]


def messages_of(content: types.Content, dialect: ChatDialect) -> list[Message]:
    """Return the messages for one content; an empty content has no messages.

    Raises:
      Unsendable: a part that chat completions cannot carry.
    """
    return _of_model(content, dialect) if content.role == "model" else _of_user(content, dialect)


def _of_user(content: types.Content, dialect: ChatDialect) -> list[Message]:
    """Return responses as tool messages, which must follow their calls, then the rest."""
    answers: list[Message] = []
    pieces: list[Message] = []
    for part in content.parts or ():
        response = part.function_response
        if response is None:
            pieces += _pieces(part)
            continue
        call_id = dialect.call_id(response.id)
        answers.append(
            {"role": "tool", "tool_call_id": call_id, "content": response_text(response)}
        )
        media = response_media(response)
        if media:
            pieces.append(_text(f"[Media in the response of {response.name}]"))
            pieces += [piece for one in media for piece in _pieces(one)]
    return [*answers, {"role": "user", "content": _join_texts(pieces)}] if pieces else answers


def _of_model(content: types.Content, dialect: ChatDialect) -> list[Message]:
    texts: list[str] = []
    calls: list[Message] = []
    thoughts: list[types.Part] = []
    media: list[Message] = []
    for part in content.parts or ():
        if part.thought:
            thoughts.append(part)
        elif part.function_call is not None:
            calls.append(_call(part, part.function_call, dialect))
        elif part.text is not None:
            texts.append(part.text)
        elif (text := other_text(part)) is not None:
            texts.append(text)
        else:  # only users' messages carry media
            media += _pieces(part)
    before: list[Message] = []
    if media:
        note = _text("[The assistant made this]")
        before.append({"role": "user", "content": [note, *media]})
    text = "".join(texts)
    if not text and not calls:
        return before
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    if thoughts and dialect.thoughts is not None:
        message |= _thoughts(thoughts, dialect)
    return [*before, message]


def _call(part: types.Part, call: types.FunctionCall, dialect: ChatDialect) -> Message:
    arguments = json.dumps(call.args or {}, ensure_ascii=False, default=str)
    message: Message = {
        "id": dialect.call_id(call.id),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if part.thought_signature and dialect.signatures is not None:
        signature = {"thought_signature": signature_text(part.thought_signature)}
        google = dialect.signatures == "extra_content"
        message[dialect.signatures] = {"google": signature} if google else signature
    return message


def _thoughts(thoughts: list[types.Part], dialect: ChatDialect) -> Message:
    """Return the fields that hand a model its thoughts back."""
    if dialect.thoughts == "reasoning_content":
        return {"reasoning_content": "".join(part.text or "" for part in thoughts)}
    if dialect.thoughts == "reasoning_details":
        signatures = [part.thought_signature or b"" for part in thoughts]
        details = [json.loads(one) for one in signatures if one.startswith(b"[")]
        return {"reasoning_details": [x for one in details for x in one]} if details else {}
    blocks = [_block(part, part.thought_signature) for part in thoughts if part.thought_signature]
    return {"thinking_blocks": blocks} if blocks else {}


def _block(part: types.Part, signature: bytes) -> Message:
    text = signature_text(signature)
    if part.text:
        return {"type": "thinking", "thinking": part.text, "signature": text}
    return {"type": "redacted_thinking", "data": text}


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _join_texts(pieces: list[Message]) -> str | list[Message]:
    """Join pieces that are all text, because some servers do not accept lists."""
    if all(piece["type"] == "text" for piece in pieces):
        return "\n".join(piece["text"] for piece in pieces)
    return pieces


def _pieces(part: types.Part) -> list[Message]:
    return user_pieces(part, _text, _inline, _by_uri)


def _inline(blob: types.Blob) -> Message:
    kind, data = blob.mime_type or "application/octet-stream", blob.data or b""
    if kind.startswith("image/"):
        return image_dict(data_url(kind, data))
    if kind.startswith("audio/"):
        return {"type": "input_audio", "input_audio": audio_of(kind, data)}
    if is_text(kind):
        return _text(file_text(blob.display_name, data))
    if kind == "application/pdf":
        file = {"filename": file_name(blob), "file_data": data_url(kind, data)}
        return {"type": "file", "file": file}
    raise Unsendable(
        f"inline content of type {kind!r}. Chat completions take text, images, WAV and MP3 audio "
        "and PDFs; convert it, or use a model that takes it."
    )


def _by_uri(file: types.FileData) -> Message:
    uri, kind = file.file_uri or "", file.mime_type or ""
    if uri.startswith("file-"):
        return {"type": "file", "file": {"file_id": uri}}
    if kind.startswith("image/") and uri.startswith(("https://", "http://", "data:")):
        return image_dict(uri)
    raise refuse_file(
        kind or "unknown",
        uri,
        "Chat completions take https URLs of images and ids of uploaded files (file-...); send "
        "the bytes as inline_data.",
    )
