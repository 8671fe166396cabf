"""OpenAI's SDK and our adapters, side by side: the same conversation is the same request, and the
same answer reads the same.

The SDK is no dependency; it stands here as a witness. The environments of the wire tests run this
with other versions of it.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from tests.wire.asking import ask, request, said, texts
from tests.wire.fake_server import Answer, FakeServer, Received
from tests.wire.turns import Call, Turn

openai = pytest.importorskip("openai")

_CALL = Call("add", {"a": 2, "b": 3})
_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
_OUTPUT = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}
_PNG = b"\x89PNG"
_URL = "data:image/png;base64,iVBORw=="

# Headers by which the SDK tells of itself.
_OWN = ("user-agent", "x-stainless-", "accept-encoding", "connection", "host", "content-length")


def _conversation() -> LlmRequest:
    """Return the conversation in our records."""
    call = types.FunctionCall(id="call_1", name="add", args=dict(_CALL.args))
    answer = types.FunctionResponse(id="call_1", name="add", response={"result": 5})
    look = [types.Part(text="And this?"), types.Part.from_bytes(data=_PNG, mime_type="image/png")]
    declaration = types.FunctionDeclaration(
        name="add", description="Add.", parameters_json_schema=_SCHEMA
    )
    return request(
        said("What is 2 + 3?"),
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
        said("It is 5.", "model"),
        types.Content(role="user", parts=look),
        system_instruction="You add numbers.",
        tools=[types.Tool(function_declarations=[declaration])],
        tool_config={"function_calling_config": {"mode": "AUTO"}},
        response_json_schema=_OUTPUT,
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=100,
    )


async def _chat_by_sdk(client: Any, *, stream: bool) -> Any:
    """Have the conversation as OpenAI documents it for chat completions."""
    function = {"name": "add", "description": "Add.", "parameters": _SCHEMA}
    call = {"name": "add", "arguments": json.dumps(_CALL.args)}
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    return await client.chat.completions.create(
        model="gpt-test",
        messages=[
            {"role": "system", "content": "You add numbers."},
            {"role": "user", "content": "What is 2 + 3?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": '{"result": 5}'},
            {"role": "assistant", "content": "It is 5."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And this?"},
                    {"type": "image_url", "image_url": {"url": _URL}},
                ],
            },
        ],
        tools=[{"type": "function", "function": function}],
        tool_choice="auto",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "response", "schema": _OUTPUT, "strict": True},
        },
        temperature=0.5,
        top_p=0.9,
        max_completion_tokens=100,
        **more,
    )


async def _responses_by_sdk(client: Any, *, stream: bool) -> Any:
    """Have the conversation as OpenAI documents it for the Responses API."""
    arguments = json.dumps(_CALL.args)
    return await client.responses.create(
        model="gpt-5-test",
        instructions="You add numbers.",
        input=[
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "What is 2 + 3?"}],
            },
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "add",
                "arguments": arguments,
            },
            {"type": "function_call_output", "call_id": "call_1", "output": '{"result": 5}'},
            {"type": "message", "role": "assistant", "content": "It is 5."},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "And this?"},
                    {"type": "input_image", "image_url": _URL},
                ],
            },
        ],
        tools=[
            {
                "type": "function",
                "name": "add",
                "description": "Add.",
                "parameters": _SCHEMA,
                "strict": False,
            }
        ],
        tool_choice="auto",
        text={
            "format": {
                "type": "json_schema",
                "name": "response",
                "schema": _OUTPUT,
                "strict": True,
            }
        },
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=100,
        store=False,
        include=["reasoning.encrypted_content"],
        **({"stream": True} if stream else {}),
    )


_BY_SDK = {"chat": _chat_by_sdk, "responses": _responses_by_sdk}


async def _both(
    wire: str, answer: Answer, *, stream: bool
) -> tuple[Received, Received, list[LlmResponse], list[Any]]:
    """Send the conversation both ways; return requests and answers, ours first."""
    script = import_module(f"tests.wire.{wire}.script")
    async with FakeServer([answer, answer]) as server:
        own = {"provider": "openai-chat"} if wire == "chat" else {}
        ours = await ask(script.llm(server.url, **own), _conversation(), stream=stream)
        client = openai.AsyncOpenAI(api_key=script.KEY, base_url=f"{server.url}/v1", max_retries=0)
        async with client:
            theirs = await _BY_SDK[wire](client, stream=stream)
            got = [one async for one in theirs] if stream else [theirs]
        first, second = server.requests
    return first, second, ours, got


def _telling(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not name.startswith(_OWN)}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_the_same_conversation_is_the_same_request(wire: str, stream: bool) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    (answer,) = script.answers([Turn("Yes.")], stream=stream)
    ours, theirs, _, _ = await _both(wire, answer, stream=stream)
    assert (ours.method, ours.path) == (theirs.method, theirs.path)
    assert _telling(ours.headers) == _telling(theirs.headers)
    assert ours.json == theirs.json


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_the_same_answer_reads_the_same(wire: str, stream: bool) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    (answer,) = script.answers([Turn("Yes, ☀.", (_CALL,))], stream=stream)
    _, _, ours, theirs = await _both(wire, answer, stream=stream)
    (call,) = ours[-1].get_function_calls()
    mine = (texts(ours), call.id, call.name, call.args, ours[-1].model_version)
    usage = ours[-1].usage_metadata
    assert usage is not None
    assert (*mine, usage.total_token_count) == _read(wire, theirs, stream=stream)


def _read(wire: str, got: list[Any], *, stream: bool) -> tuple[Any, ...]:
    """Return what the SDK's own records say."""
    if wire == "responses":
        whole = got[-1].response if stream else got[0]
        (call,) = [item for item in whole.output if item.type == "function_call"]
        said = (whole.output_text, call.call_id, call.name, json.loads(call.arguments))
        return (*said, whole.model, whole.usage.total_tokens)
    if not stream:
        message = got[0].choices[0].message
        (call,) = message.tool_calls
        said = (message.content, call.id, call.function.name, json.loads(call.function.arguments))
        return (*said, got[0].model, got[0].usage.total_tokens)
    deltas = [one.choices[0].delta for one in got if one.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    arguments = "".join(call.function.arguments or "" for call in calls)
    text = "".join(delta.content or "" for delta in deltas)
    first = calls[0]
    said = (text, first.id, first.function.name, json.loads(arguments))
    return (*said, got[-1].model, got[-1].usage.total_tokens)
