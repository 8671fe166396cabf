"""Requests as Bedrock's Converse API reads them. They are built from Claude's messages, whose rules
(roles alternate, results come first, ids are unique) hold for Converse, too.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from ... import types
from ..context_cache_config import ContextCacheConfig
from ..request_text import instruction_text
from . import claude_request
from .claude_messages import ClaudeMessage, conversation, messages_of
from .claude_schema import claude_schema
from .faults import Unsendable
from .json_item import JsonItem
from .json_schema import output_schema_of, schema_name
from .media import is_text

Json = dict[str, Any]

_CLAUDE = re.compile(r"(^|[./])anthropic\.claude-")
_MEDIA = "media"
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
_VIDEOS = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
_AUDIO = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}
_KINDS = {"image": _IMAGES, "document": _DOCUMENTS, "video": _VIDEOS, "audio": _AUDIO}
_DEFAULT_MAX_TOKENS = 8192


def is_claude(model: str) -> bool:
    """Return whether a model's id or ARN is one of Claude's."""
    return _CLAUDE.search(model) is not None


def converse_messages_of(content: types.Content) -> list[ClaudeMessage]:
    """Return a content as a message in Claude's form, with media in Bedrock's.

    Raises:
      Unsendable: a part of it is of a kind that the API does not take.
    """
    return messages_of(content, _media_block)


def converse_body(
    config: types.GenerateContentConfig,
    said: Iterable[ClaudeMessage],
    model: str,
    max_tokens: int | None,
) -> Json:
    """Return the body of a request.

    Args:
      config: the settings.
      said: the messages of `converse_messages_of`.
      model: the model's id, which decides on what only Claude knows.
      max_tokens: the most tokens of an answer, if the request does not say.

    Raises:
      Unsendable: the API does not take one of the settings.
    """
    messages = [one.form or _set_form(one) for one in conversation(said)]
    body: Json = {"messages": [one for one in messages if one["content"]]}
    if (system := instruction_text(config)).strip():
        body["system"] = [{"text": system}]
    inference: Json = {
        "maxTokens": config.max_output_tokens or max_tokens,
        "temperature": config.temperature,
        "topP": config.top_p,
        "stopSequences": config.stop_sequences or None,
    }
    extra: Json = {}
    output: Json = {}
    if is_claude(model):
        _put_claude_settings(config, model, inference, extra, output)
    if schema := output_schema_of(config):
        output["textFormat"] = _text_format(schema)
    fields = {
        "inferenceConfig": {name: value for name, value in inference.items() if value is not None},
        "toolConfig": _tool_config(config, body["messages"]),
        "additionalModelRequestFields": extra,
        "outputConfig": output,
    }
    return body | {name: value for name, value in fields.items() if value}


def _put_claude_settings(
    config: types.GenerateContentConfig, model: str, inference: Json, extra: Json, output: Json
) -> None:
    """Set how much Claude thinks, and what else only Claude knows."""
    wanted = claude_request.thinking(config, model, inference["maxTokens"] or _DEFAULT_MAX_TOKENS)
    if "thinking" in wanted:
        extra["thinking"] = wanted["thinking"]
        inference["maxTokens"] = wanted["max_tokens"]
    output |= wanted.get("output_config", {})
    if config.top_k is not None:
        extra["top_k"] = int(config.top_k)


def _text_format(schema: Json) -> Json:
    described = {"schema": json.dumps(claude_schema(schema)), "name": schema_name(schema)}
    return {"type": "json_schema", "structure": {"jsonSchema": described}}


def _tool_config(config: types.GenerateContentConfig, messages: list[Json]) -> Json:
    """Return the tools of a request, and whether one of them has to be called."""
    choice = claude_request.tool_choice(config) or {}
    tools: list[Json] = []
    if choice.get("type") != "none":
        tools = [_tool(one) for one in claude_request.tools(config)]
    if not tools:
        # A history with calls is refused without a declaration of what they called.
        names = dict.fromkeys(
            block["toolUse"]["name"]
            for message in messages
            for block in message["content"]
            if "toolUse" in block
        )
        return {"tools": [_tool({"name": name}) for name in names]} if names else {}
    made: Json = {"tools": tools}
    if choice.get("type") == "tool":
        made["toolChoice"] = {"tool": {"name": choice["name"]}}
    elif choice.get("type") == "any":
        made["toolChoice"] = {"any": {}}
    return made


def _tool(tool: Json) -> Json:
    described: Json = {"name": tool["name"]}
    if tool.get("description"):
        described["description"] = tool["description"]
    described["inputSchema"] = {"json": tool.get("input_schema") or {"type": "object"}}
    return {"toolSpec": described}


def mark_for_cache(body: Json, cache: ContextCacheConfig | None, previous: int | None) -> None:
    """Set points up to which the service caches: tools, system and the last two user messages.

    Args:
      body: the request.
      cache: the app's settings.
      previous: the tokens of the previous request's prompt, if known.
    """
    control = claude_request.cache_control(cache, previous)
    if control is None:
        return
    point: Json = {"cachePoint": {"type": "default"}}
    if control["ttl"] != "5m":
        point["cachePoint"]["ttl"] = control["ttl"]
    if tools := body.get("toolConfig"):
        body["toolConfig"] = {**tools, "tools": [*tools["tools"], point]}
    if body.get("system"):
        body["system"] = [*body["system"], point]
    messages: list[Json] = body["messages"]
    users = [place for place, one in enumerate(messages) if one["role"] == "user"]
    for place in users[-2:]:
        messages[place] = {"role": "user", "content": [*messages[place]["content"], point]}


def _set_form(message: ClaudeMessage) -> Json:
    """Convert a message of Claude's form into Converse's, and keep that with it."""
    made = [_block(block) for block in message.blocks]
    blocks = [block for block in made if block is not None]
    if any("document" in block for block in blocks) and not any("text" in x for x in blocks):
        blocks.append({"text": "See the document."})  # the API refuses a document without text
    message.form = JsonItem(role=message.role, content=blocks)
    return message.form


def _block(block: Json) -> Json | None:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "tool_use":
            names = {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}
            return {"toolUse": names}
        case "tool_result":
            found = [_block(one) for one in block.get("content", ())]
            content = [one for one in found if one is not None] or [{"json": {}}]
            result: Json = {"toolUseId": block["tool_use_id"], "content": content}
            return {"toolResult": result | ({"status": "error"} if block.get("is_error") else {})}
        case "thinking":
            thought = {"text": block["thinking"], "signature": block["signature"]}
            return {"reasoningContent": {"reasoningText": thought}}
        case "redacted_thinking":
            return {"reasoningContent": {"redactedContent": block["data"]}}
        case kind if kind == _MEDIA:
            return block["block"]
        case _:  # what a tool of Anthropic's own did: Bedrock has no word for it
            return None


def _media_block(part: types.Part, role: str) -> Json:
    """Return a part with media as a block.

    Raises:
      Unsendable: the API does not take it.
    """
    blob, file = part.inline_data, part.file_data
    given = blob.mime_type if blob is not None else file.mime_type if file is not None else None
    mime_type = (given or "unknown").partition(";")[0].strip().lower()
    if role != "user":
        raise Unsendable(
            f"{mime_type!r} in the words of a model; only the user may send it. Leave it out of "
            "the history in a before_model_callback."
        )
    if blob is not None:
        source: Json = {"bytes": base64.b64encode(blob.data or b"").decode()}
        name = blob.display_name
    else:
        uri = (file.file_uri if file is not None else None) or ""
        if not uri.startswith("s3://"):
            shown = uri.partition("?")[0]  # a signed URL's query is a secret
            raise Unsendable(f"the file {shown!r}; pass its bytes, or an s3:// URI.")
        source, name = {"s3Location": {"uri": uri}}, uri.rpartition("/")[2]
    kind, form = _form(mime_type)
    media: Json = {"format": form, "source": source}
    if kind == "document":
        media["name"] = _document_name(name)
    return {"type": _MEDIA, "block": {kind: media}}


def _form(mime_type: str) -> tuple[str, str]:
    for kind, forms in _KINDS.items():
        if mime_type in forms:
            return kind, forms[mime_type]
    if is_text(mime_type):
        return "document", "txt"
    raise Unsendable(
        f"content of type {mime_type!r}; it takes images, sound, video, PDF, office files and "
        "text. Convert it, or leave it out."
    )


def _document_name(name: str | None) -> str:
    """Return a document's name in the characters that the API takes."""
    words = re.sub(r"[^A-Za-z0-9()\[\]-]+", " ", (name or "").rpartition(".")[0] or name or "")
    return words.strip()[:200] or "document"
