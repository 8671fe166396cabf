"""What one provider's own tools did is no part of a request to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.models.wire import bedrock_request, claude_messages, gemini_contents, responses_items

SEARCH = {"type": "tool_search_call", "execution": "server", "arguments": {}}
RESULT = {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {}}
CONTENT = types.Content(
    role="model",
    parts=[
        types.Part(part_metadata={"anthropic": RESULT}),
        types.Part(part_metadata={"openai_tool_search": SEARCH}),
        types.Part(text="Yes."),
    ],
)
YES = {"type": "text", "text": "Yes."}


@pytest.mark.parametrize(
    ("convert", "wanted"),
    [
        (gemini_contents.wire_content, {"role": "model", "parts": [{"text": "Yes."}]}),
        (gemini_contents.developer_content, {"role": "model", "parts": [{"text": "Yes."}]}),
        (
            responses_items.input_items_of,
            [SEARCH, {"type": "message", "role": "assistant", "content": "Yes."}],
        ),
        (
            claude_messages.messages_of,
            [{"role": "assistant", "content": [RESULT, YES]}],
        ),
    ],
)
def test_each_api_gets_its_own(convert: Callable[[types.Content], Any], wanted: Any) -> None:
    assert convert(CONTENT) == wanted


def test_bedrock_gets_the_text() -> None:
    body = bedrock_request.converse_body(
        types.GenerateContentConfig(),
        bedrock_request.converse_messages_of(CONTENT),
        "anthropic.claude-sonnet-4-5",
        None,
    )
    assert body["messages"][-1] == {"role": "assistant", "content": [{"text": "Yes."}]}
