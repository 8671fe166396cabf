"""Contents as input items of the Responses API. `responses_request` puts them into a request."""

from __future__ import annotations

import json
from typing import Any

from ... import types
from .faults import Unsendable
from .media import (
    data_url,
    file_name,
    other_text,
    refuse_file,
    response_media,
    response_text,
    user_pieces,
)
from .reading import fields_of, text_of

Item = dict[str, Any]

#: Key in a part's metadata: whether a text is commentary or the answer; models want it back.
PHASE = "openai_phase"
#: Key in a part's metadata: an item of a search for deferred tools, which goes back as it came.
SEARCH = "openai_tool_search"
#: Key in the metadata of a call: the namespace of its function, which the model wants back.
NAMESPACE = "openai_namespace"


def input_items_of(content: types.Content) -> list[Item]:
    """Return the items for one content; an empty content has no items.

    Raises:
      Unsendable: a part that the Responses API cannot carry.
    """
    return _of_model(content) if content.role == "model" else _of_user(content)


def _of_user(content: types.Content) -> list[Item]:
    items: list[Item] = []
    pieces: list[Item] = []
    for part in content.parts or ():
        if part.function_response is not None:
            items.append(_output(part.function_response))
        else:
            pieces += _pieces(part)
    if pieces:
        items.append({"type": "message", "role": "user", "content": pieces})
    return items


def _output(response: types.FunctionResponse) -> Item:
    text = response_text(response)
    media = [piece for part in response_media(response) for piece in _pieces(part)]
    output = [_text(text), *media] if media else text
    return {"type": "function_call_output", "call_id": response.id, "output": output}


def _of_model(content: types.Content) -> list[Item]:
    items: list[Item] = []
    for part in content.parts or ():
        text = part.text if part.text is not None else other_text(part)
        metadata = part.part_metadata or {}
        if part.thought:
            items += _reasoning(part)
        elif part.function_call is not None:
            namespace = metadata.get(NAMESPACE)
            call = _call(part.function_call)
            items.append({**call, "namespace": namespace} if namespace else call)
        elif isinstance(metadata.get(SEARCH), dict):
            items.append(metadata[SEARCH])
        elif text is not None:
            if text:
                items.append(_build_message(text, part))
        elif pieces := _pieces(part):  # only users' messages carry media
            made = [_text("[The assistant made this]"), *pieces]
            items.append({"type": "message", "role": "user", "content": made})
    return items


def _reasoning(part: types.Part) -> list[Item]:
    """Return a thought as the item it was; one of another model's, which cannot be read, is not."""
    signature = part.thought_signature or b""
    if not signature.startswith(b"{"):
        return []
    proof = fields_of(json.loads(signature))
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    item = {"type": "reasoning", "id": text_of(proof.get("id")), "summary": summary}
    return [{**item, "encrypted_content": text_of(proof.get("encrypted_content"))}]


def _call(call: types.FunctionCall) -> Item:
    arguments = json.dumps(call.args or {}, ensure_ascii=False, default=str)
    name = {"type": "function_call", "call_id": call.id, "name": call.name}
    return {**name, "arguments": arguments}


def _build_message(text: str, part: types.Part) -> Item:
    message: Item = {"type": "message", "role": "assistant", "content": text}
    phase = (part.part_metadata or {}).get(PHASE)
    return {**message, "phase": phase} if phase else message


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _pieces(part: types.Part) -> list[Item]:
    return user_pieces(part, _text, _inline, _by_uri)


def _inline(blob: types.Blob) -> Item:
    kind, data = blob.mime_type or "application/octet-stream", blob.data or b""
    if kind.startswith(("audio/", "video/")):
        raise Unsendable(
            f"inline content of type {kind!r}. The Responses API takes text, images and files; for "
            "audio use the prefix openai-chat: and a model that hears."
        )
    if kind.startswith("image/"):
        return {"type": "input_image", "image_url": data_url(kind, data)}
    return {"type": "input_file", "filename": file_name(blob), "file_data": data_url(kind, data)}


def _by_uri(file: types.FileData) -> Item:
    uri, kind = file.file_uri or "", file.mime_type or ""
    is_image = kind.startswith("image/")
    if kind.startswith(("audio/", "video/")):
        raise refuse_file(kind, uri, "The Responses API takes text, images and files.")
    if uri.startswith("file-"):
        return {"type": "input_image" if is_image else "input_file", "file_id": uri}
    if uri.startswith(("https://", "http://", "data:")):
        name = ("input_image", "image_url") if is_image else ("input_file", "file_url")
        return {"type": name[0], name[1]: uri}
    raise refuse_file(
        kind or "unknown",
        uri,
        "The Responses API takes https URLs and ids of uploaded files (file-...); send the bytes "
        "as inline_data.",
    )
