"""ChatThoughts, which collects the thoughts in a response of chat completions for `ChatAnswer`."""

from __future__ import annotations

import json
from typing import Any

from ... import types
from .reading import fields_of, items_of, signature_bytes, text_of

# Fields of a detail that come in pieces.
_PIECES = ("text", "summary", "data", "signature")


class ChatThoughts:
    """Collects thoughts.

    Servers say `reasoning_content` or `reasoning`; OpenRouter adds `reasoning_details` and LiteLLM
    `thinking_blocks`, which hold the proofs that have to be sent back.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []

    def add(self, delta: dict[str, Any]) -> str:
        """Take the thoughts of a delta or message and return their text."""
        text = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        details = [fields_of(one) for one in items_of(delta.get("reasoning_details"))]
        if not text:
            text = "".join(
                text_of(one.get("text")) or text_of(one.get("summary")) for one in details
            )
        for one in details:
            self._add_detail(one)
        for one in items_of(delta.get("thinking_blocks")):
            self._add_block(fields_of(one))
        self._texts.append(text)
        return text

    def parts(self) -> list[types.Part]:
        """Return the thoughts as parts, with their signatures."""
        text = "".join(self._texts)
        signed = [block for block in self._blocks if block.get("signature") or block.get("data")]
        if signed:
            return [_build_thought(block) for block in signed]
        signature = None
        if self._details:
            signature = json.dumps(self._details, ensure_ascii=False).encode()
        if not text and signature is None:
            return []
        return [types.Part(text=text, thought=True, thought_signature=signature)]

    def _add_detail(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        same = all(last.get(name) == detail.get(name) for name in ("type", "index"))
        if not self._details or not same or "index" not in detail:
            self._details.append(dict(detail))
            return
        for name in _PIECES:
            if text := text_of(detail.get(name)):
                last[name] = text_of(last.get(name)) + text

    def _add_block(self, block: dict[str, Any]) -> None:
        """Add a block, or a piece of the last one: a block ends with its signature."""
        last = self._blocks[-1] if self._blocks else None
        if last is None or last.get("signature") or last.get("data") or block.get("data"):
            self._blocks.append(dict(block))
            return
        last["thinking"] = text_of(last.get("thinking")) + text_of(block.get("thinking"))
        last["signature"] = text_of(block.get("signature"))


def _build_thought(block: dict[str, Any]) -> types.Part:
    proof = text_of(block.get("signature")) or text_of(block.get("data"))
    text = text_of(block.get("thinking"))
    return types.Part(text=text or None, thought=True, thought_signature=signature_bytes(proof))
