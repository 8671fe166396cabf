"""Media and other parts that are no text, as OpenAI's APIs name them; both formats use these."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from ... import types
from .faults import Unsendable

Piece = dict[str, Any]

_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
# Text files are sent as text: every model reads that.
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml")


def data_url(mime_type: str, data: bytes) -> str:
    """Return bytes as a data URL."""
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


def audio_of(mime_type: str, data: bytes) -> dict[str, str]:
    """Return sound as base64 with the name of its format.

    Raises:
      Unsendable: the format is neither WAV nor MP3.
    """
    kind = _AUDIO.get(mime_type)
    if kind is None:
        raise Unsendable(f"audio of type {mime_type!r}. Convert it to audio/wav or audio/mpeg.")
    return {"data": base64.b64encode(data).decode(), "format": kind}


def is_text(mime_type: str) -> bool:
    """Return whether a file of this type is plain text."""
    return mime_type.startswith("text/") or mime_type in _TEXTS


def file_text(name: str | None, data: bytes) -> str:
    """Return a text file as text that says where it comes from."""
    text = data.decode("utf-8", errors="replace")
    return f"[File {name}]\n{text}" if name else text


def file_name(blob: types.Blob) -> str:
    """Return the name to send a file under."""
    if blob.display_name:
        return blob.display_name
    return "file." + (blob.mime_type or "application/pdf").rpartition("/")[2]


def other_text(part: types.Part) -> str | None:
    """Return code and its output as the text a model wrote or reads; None for other parts."""
    if part.executable_code is not None:
        return f"```python\n{part.executable_code.code or ''}\n```"
    if part.code_execution_result is not None:
        return f"```tool_output\n{part.code_execution_result.output or ''}\n```"
    return None


def response_text(response: types.FunctionResponse) -> str:
    """Return a function's response as the text a model reads."""
    return json.dumps(response.response or {}, ensure_ascii=False, default=str)


def response_media(response: types.FunctionResponse) -> list[types.Part]:
    """Return the media in a function's response as parts."""
    parts: list[types.Part] = []
    for one in response.parts or ():
        if one.inline_data is not None:
            blob = one.inline_data
            parts.append(
                types.Part.from_bytes(
                    data=blob.data or b"", mime_type=blob.mime_type or "application/octet-stream"
                )
            )
        elif one.file_data is not None and one.file_data.file_uri:
            parts.append(
                types.Part(
                    file_data=types.FileData(
                        file_uri=one.file_data.file_uri, mime_type=one.file_data.mime_type
                    )
                )
            )
    return parts


def user_pieces(
    part: types.Part,
    say: Callable[[str], Piece],
    inline: Callable[[types.Blob], Piece],
    by_uri: Callable[[types.FileData], Piece],
) -> list[Piece]:
    """Return a part as pieces of a user's message; none for one that is empty or another API's own.

    Args:
      part: the part.
      say: writes text in the API's form.
      inline: writes bytes.
      by_uri: writes a file at an address.

    Raises:
      Unsendable: the API cannot carry it.
    """
    if part.inline_data is not None:
        return [inline(part.inline_data)]
    if part.file_data is not None:
        return [by_uri(part.file_data)]
    text = part.text if part.text is not None else other_text(part)
    if text is None and part.function_call is None and not _is_foreign(part):
        raise refuse_part(part)
    return [say(text)] if text else []


def _is_foreign(part: types.Part) -> bool:
    """Return whether a part holds nothing but what another provider's own tools did."""
    return [name for name, value in part if value is not None] == ["part_metadata"]


def refuse_part(part: types.Part) -> Unsendable:
    """Return the error for a part of a kind that the API does not take."""
    kinds = [name for name, value in part if value is not None and name != "thought_signature"]
    return Unsendable(
        f"a part with {' and '.join(kinds) or 'nothing'}. Take it out of the content."
    )


def refuse_file(what: str, where: str, remedy: str) -> Unsendable:
    """Return the error for a file that the API does not take.

    Args:
      what: its MIME type.
      where: its URI, or how it was given.
      remedy: what to do.
    """
    shown = where.partition("?")[0][:200]  # a signed URL's query is a secret
    return Unsendable(f"content of type {what!r} ({shown}). {remedy}")


def image_dict(url: str) -> dict[str, Any]:
    """Return an image part of a chat message."""
    return {"type": "image_url", "image_url": {"url": url}}
