"""Contents as the messages of Anthropic's API. The adapter converts each Content once and puts the
converted ones together for each request.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ... import types

Block = dict[str, Any]

OWN = "anthropic"
"""Under this key of a part's `part_metadata` stands what only Anthropic can read: the type of a
thought that it signed, or a whole block that has no form among our parts."""

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml"})
_START = "The conversation so far:"


class CannotSend(ValueError):
    """A part that this API does not take; the text names its kind and the remedy."""


@dataclass(frozen=True, slots=True)
class ClaudeMessage:
    """A Content as blocks.

    Attributes:
      role: user or assistant.
      blocks: what it says; empty where nothing of it can be sent.
      lacks_ids: whether calls or results in it have no id, which they get when messages are put
        together.
    """

    role: str
    blocks: tuple[Block, ...]
    lacks_ids: bool


def message(content: types.Content) -> ClaudeMessage:
    """Return a Content as a message.

    Raises:
      CannotSend: a part of it is of a kind that the API does not take.
    """
    role = "assistant" if content.role in ("model", "assistant") else "user"
    blocks = tuple(
        block for part in content.parts or () if (block := _block(part, role)) is not None
    )
    lacks_ids = any(
        (block["type"] == "tool_use" and not block["id"])
        or (block["type"] == "tool_result" and not block["tool_use_id"])
        for block in blocks
    )
    return ClaudeMessage(role, blocks, lacks_ids)


def conversation(messages: Iterable[ClaudeMessage]) -> list[Block]:
    """Put messages together as the API wants them.

    Roles alternate and the user begins, results stand before all else in the message after their
    calls, and every call has an id. Blocks are shared with `messages`; the lists are not.
    """
    joined: list[Block] = []
    ids = _Ids()
    for one in messages:
        blocks: Sequence[Block] = ids.given(one.blocks) if one.lacks_ids else one.blocks
        if not blocks:
            continue
        if joined and joined[-1]["role"] == one.role:
            joined[-1]["content"].extend(blocks)
        else:
            joined.append({"role": one.role, "content": list(blocks)})
    for one in joined:
        if one["role"] == "user" and any(b["type"] == "tool_result" for b in one["content"]):
            one["content"].sort(key=_is_no_result)
    if joined and joined[0]["role"] != "user":
        joined.insert(0, {"role": "user", "content": [{"type": "text", "text": _START}]})
    return joined


def _is_no_result(block: Block) -> bool:
    return block["type"] != "tool_result"


class _Ids:
    """Ids for calls that came without one, in the order of the calls of each function."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[str, list[str]] = {}

    def given(self, blocks: Iterable[Block]) -> list[Block]:
        """Return the blocks, those that lack an id with one."""
        named: list[Block] = []
        for block in blocks:
            if block["type"] == "tool_use" and not block["id"]:
                self._count += 1
                block = {**block, "id": f"call_{self._count}"}
                self._open.setdefault(block["name"], []).append(block["id"])
            elif block["type"] == "tool_result" and not block["tool_use_id"]:
                waiting = self._open.get(block[_NAME])
                block = {**block, "tool_use_id": waiting.pop(0) if waiting else "call_0"}
            named.append({key: value for key, value in block.items() if key != _NAME})
        return named


_NAME = "name of the function"  # kept in a result without an id until it gets one


def _block(part: types.Part, role: str) -> Block | None:
    """Return a part as a block; None where there is nothing to send."""
    own = (part.part_metadata or {}).get(OWN)
    if part.thought:
        return _thought(part, own) if role == "assistant" else None
    if isinstance(own, dict) and role == "assistant":
        return cast(Block, own)
    if part.function_call is not None:
        call = part.function_call
        return {
            "type": "tool_use",
            "id": _id(call.id),
            "name": call.name or "",
            "input": call.args or {},
        }
    if part.function_response is not None:
        return _result(part.function_response)
    if part.inline_data is not None:
        return _inline(part.inline_data, role)
    if part.file_data is not None:
        return _file(part.file_data, role)
    text = _text(part)
    # The API refuses text that is empty or nothing but white space.
    return {"type": "text", "text": text} if text and text.strip() else None


def _text(part: types.Part) -> str | None:
    if part.executable_code is not None:
        return f"```\n{part.executable_code.code or ''}\n```"
    if part.code_execution_result is not None:
        return f"```tool_output\n{part.code_execution_result.output or ''}\n```"
    return part.text


def _thought(part: types.Part, own: Any) -> Block | None:
    """Return a thought that Anthropic signed, as it came; nothing for those of others."""
    if isinstance(own, dict):
        return cast(Block, own)
    if own != "thinking" or part.thought_signature is None:
        return None
    signature = part.thought_signature.decode("ascii", "replace")
    return {"type": "thinking", "thinking": part.text or "", "signature": signature}


def _id(given: str | None) -> str:
    """Return an id in the characters that the API allows; calls and results alike."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given or "")


def _result(answer: types.FunctionResponse) -> Block:
    response = answer.response or {}
    value: Any = response["result"] if response.keys() == {"result"} else response
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    content: list[Block] = [{"type": "text", "text": text}] if text.strip() else []
    for part in answer.parts or ():
        if part.inline_data is not None:
            blob = types.Blob(data=part.inline_data.data, mime_type=part.inline_data.mime_type)
            content.append(_inline(blob, "user"))
        elif part.file_data is not None:
            file = part.file_data
            content.append(
                _file(types.FileData(file_uri=file.file_uri, mime_type=file.mime_type), "user")
            )
    block: Block = {"type": "tool_result", "tool_use_id": _id(answer.id)}
    if content:
        block["content"] = content
    if "error" in response:
        block["is_error"] = True
    if not answer.id:
        block[_NAME] = answer.name or ""
    return block


def _inline(blob: types.Blob, role: str) -> Block:
    kind, data = _kind(blob.mime_type), blob.data or b""
    _check_role(role, kind)
    if kind in _IMAGES or kind == _PDF:
        source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
        return {"type": "document" if kind == _PDF else "image", "source": source}
    if kind.startswith("text/") or kind in _TEXTS:
        source = {
            "type": "text",
            "media_type": "text/plain",
            "data": data.decode("utf-8", "replace"),
        }
        document: Block = {"type": "document", "source": source}
        return {**document, "title": blob.display_name} if blob.display_name else document
    raise CannotSend(f"content of type {kind!r}; {_TAKES}")


def _file(file: types.FileData, role: str) -> Block:
    kind, uri = _kind(file.mime_type), file.file_uri or ""
    _check_role(role, kind)
    form = "image" if kind.startswith("image/") else "document"
    if uri.startswith("file_"):
        return {"type": form, "source": {"type": "file", "file_id": uri}}
    if not uri.startswith(("https://", "http://")):
        raise CannotSend(f"the file {uri!r}; pass its bytes, an https URL, or a file id of its own")
    if kind not in _IMAGES and kind != _PDF:
        raise CannotSend(f"content of type {kind!r} by its URL; {_TAKES}")
    return {"type": form, "source": {"type": "url", "url": uri}}


_TAKES = (
    "it takes JPEG, PNG, GIF and WebP images, PDF and text. Convert it, or choose a model that "
    "takes it"
)


def _check_role(role: str, kind: str) -> None:
    if role != "user":
        raise CannotSend(
            f"{kind!r} in the words of a model; only the user may send it. Leave it out of the "
            "history in a before_model_callback"
        )


def _kind(mime_type: str | None) -> str:
    return (mime_type or "unknown").partition(";")[0].strip().lower()
