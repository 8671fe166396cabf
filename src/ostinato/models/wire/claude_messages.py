"""Contents as the messages of Anthropic's API. The adapter converts each Content once and puts the
converted ones together for each request.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

from ... import types
from .faults import Unsendable
from .json_item import JsonItem
from .media import is_text, other_text, response_media

Block = dict[str, Any]

_role = attrgetter("role")

OWN = "anthropic"
"""Under this key of a part's `part_metadata` stands what only Anthropic can read: the type of a
thought that it signed, or a whole block that has no form among our parts."""

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"
_START = "The conversation so far:"
# Which field holds the id, by the type of a block.
_IDS = {"tool_use": "id", "tool_result": "tool_use_id"}


class ClaudeMessage(JsonItem):
    """A message of the API, with what `conversation` asks of it. Blocks are shared: edit none.

    Attributes:
      role: "user" or "assistant".
      blocks: its content.
      ids: the ids of its calls and results; empty for most messages.
      has_search: whether it holds a search for deferred tools, or what one found.
      form: the same message in another API's form; None until an adapter sets it.
    """

    __slots__ = ("_joined", "blocks", "form", "has_search", "ids", "role")

    def __init__(self, role: str, blocks: list[Block]) -> None:
        super().__init__(role=role, content=blocks)
        self.role, self.blocks = role, blocks
        self.ids: tuple[str, ...] = tuple(
            [one[_IDS[one["type"]]] for one in blocks if one["type"] in _IDS]
        )
        self.has_search = any([is_search(one) for one in blocks])
        self.form: Block | None = None
        self._joined: tuple[object, ClaudeMessage] | None = None

    def joined_with(self, others: list[ClaudeMessage], names: list[str]) -> ClaudeMessage:
        """Return this message with the blocks of others of its role, results first.

        The next request gets the same one, so that it is written once.

        Args:
          others: the messages that follow it.
          names: new ids of all calls and results, in their order; empty if they keep theirs.
        """
        key = others, names
        if self._joined is None or self._joined[0] != key:
            blocks = [block for one in (self, *others) for block in one.blocks]
            if self.role == "user" and len(others) and any(one.ids for one in (self, *others)):
                blocks.sort(key=_is_no_result)
            if names:
                blocks = _rename_ids(blocks, names)
            self._joined = key, ClaudeMessage(self.role, blocks)
        return self._joined[1]


def is_search(block: Block) -> bool:
    """Return whether a block is a search for deferred tools, or what one found."""
    kind = block["type"]
    is_call = kind == "server_tool_use" and str(block.get("name")).startswith("tool_search_tool")
    return is_call or kind == "tool_search_tool_result"


def messages_of(
    content: types.Content, media: Callable[[types.Part, str], Block] | None = None
) -> list[ClaudeMessage]:
    """Return a Content as a message, or an empty list if nothing of it can be sent.

    Args:
      content: the content.
      media: makes a block of a part with media and its role, in place of the API's own form.

    Raises:
      Unsendable: a part of it is of a kind that the API does not take.
    """
    role = "assistant" if content.role in ("model", "assistant") else "user"
    make = media or _media
    made = [_block(part, role, make) for part in content.parts or ()]
    blocks = [block for block in made if block is not None]
    if role == "user":
        blocks.sort(key=_is_no_result)
    return [ClaudeMessage(role, blocks)] if blocks else []


def conversation(messages: Iterable[ClaudeMessage]) -> list[ClaudeMessage]:
    """Merge messages as the API requires.

    Roles alternate and the user begins, results stand before all else in the message after their
    calls, and no two calls have the same id. Messages that need none of this are returned
    unchanged.
    """
    joined: list[ClaudeMessage] = []
    for _, group in groupby(messages, _role):
        first, *others = group
        joined.append(first.joined_with(others, []) if others else first)
    if joined and joined[0].role != "user":
        joined.insert(0, ClaudeMessage("user", [{"type": "text", "text": _START}]))
    called = [given for one in joined if one.ids and one.role == "assistant" for given in one.ids]
    if len(set(called)) < len(called):
        _rename_repeated_calls(joined)
    return joined


def _rename_repeated_calls(messages: list[ClaudeMessage]) -> None:
    """Give calls whose id an earlier call had an id of their own, and their results with them.

    Some models begin to count anew in each response; the API refuses such a history. Results that
    have the same id belong to the calls of the message before them, in their order.
    """
    used: set[str] = set()
    numbers: dict[str, int] = {}  # continues the count: a new search is quadratic
    open_calls: dict[str, deque[str]] = {}  # new ids of the calls that await a result
    latest: dict[str, str] = {}
    for at, message in enumerate(messages):
        if not message.ids:
            continue
        if message.role == "assistant":
            open_calls.clear()
            names: list[str] = []
            for given in message.ids:
                made, number = given, numbers.get(given, 1)
                while made in used:
                    number += 1
                    made = f"{given}_{number}"
                numbers[given] = number
                used.add(made)
                latest[given] = made
                open_calls.setdefault(given, deque()).append(made)
                names.append(made)
        else:
            names = [
                open_calls[given].popleft() if open_calls.get(given) else latest.get(given, given)
                for given in message.ids
            ]
        if names != [*message.ids]:
            messages[at] = message.joined_with([], names)


def _rename_ids(blocks: list[Block], names: list[str]) -> list[Block]:
    """Return blocks whose calls and results have these ids, in their order."""
    rest = iter(names)
    return [
        {**block, _IDS[block["type"]]: next(rest)} if block["type"] in _IDS else block
        for block in blocks
    ]


def _is_no_result(block: Block) -> bool:
    return block["type"] != "tool_result"


def _block(part: types.Part, role: str, media: Callable[[types.Part, str], Block]) -> Block | None:
    """Return a part as a block, or None if there is nothing to send."""
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
        return _result(part.function_response, media)
    if part.inline_data is not None or part.file_data is not None:
        return media(part, role)
    text = part.text or other_text(part)
    # The API refuses text that is empty or nothing but white space.
    return {"type": "text", "text": text} if text and text.strip() else None


def _thought(part: types.Part, own: Any) -> Block | None:
    """Return a thought that Anthropic signed, as it came; nothing for those of others."""
    if isinstance(own, dict):
        return cast(Block, own)
    if own != "thinking" or part.thought_signature is None:
        return None
    signature = part.thought_signature.decode("ascii", "replace")
    return {"type": "thinking", "thinking": part.text or "", "signature": signature}


def _id(given: str | None) -> str:
    """Return an id with only the characters that the API allows."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given or "")


def _result(answer: types.FunctionResponse, media: Callable[[types.Part, str], Block]) -> Block:
    response = answer.response or {}
    value: Any = response["result"] if response.keys() == {"result"} else response
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    content: list[Block] = [{"type": "text", "text": text}] if text.strip() else []
    content += [one for part in response_media(answer) if (one := _block(part, "user", media))]
    block: Block = {"type": "tool_result", "tool_use_id": _id(answer.id)}
    if content:
        block["content"] = content
    if "error" in response:
        block["is_error"] = True
    return block


def _media(part: types.Part, role: str) -> Block:
    if part.inline_data is not None:
        return _inline(part.inline_data, role)
    return _file(part.file_data or types.FileData(), role)


def _inline(blob: types.Blob, role: str) -> Block:
    kind, data = _kind(blob.mime_type), blob.data or b""
    _check_role(role, kind)
    if kind in _IMAGES or kind == _PDF:
        source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
        return {"type": "document" if kind == _PDF else "image", "source": source}
    if is_text(kind):
        source = {
            "type": "text",
            "media_type": "text/plain",
            "data": data.decode("utf-8", "replace"),
        }
        document: Block = {"type": "document", "source": source}
        return {**document, "title": blob.display_name} if blob.display_name else document
    raise Unsendable(f"content of type {kind!r}; {_TAKES}")


def _file(file: types.FileData, role: str) -> Block:
    kind, uri = _kind(file.mime_type), file.file_uri or ""
    _check_role(role, kind)
    form = "image" if kind.startswith("image/") else "document"
    if uri.startswith("file_"):
        return {"type": form, "source": {"type": "file", "file_id": uri}}
    if not uri.startswith(("https://", "http://")):
        raise Unsendable(
            f"the file {uri!r}; pass its bytes, an https URL, or a file id of its own."
        )
    if kind not in _IMAGES and kind != _PDF:
        raise Unsendable(f"content of type {kind!r} by its URL; {_TAKES}")
    return {"type": form, "source": {"type": "url", "url": uri}}


_TAKES = (
    "it takes JPEG, PNG, GIF and WebP images, PDF and text. Convert it, or choose a model that "
    "takes it."
)


def _check_role(role: str, kind: str) -> None:
    if role != "user":
        raise Unsendable(
            f"{kind!r} in the words of a model; only the user may send it. Leave it out of the "
            "history in a before_model_callback."
        )


def _kind(mime_type: str | None) -> str:
    return (mime_type or "unknown").partition(";")[0].strip().lower()
