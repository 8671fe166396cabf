"""The openai SDK's chat completions against our server: agents as models."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.unit.server.conftest import Served
from tests.unit.server.gate import Gate

pytestmark = pytest.mark.long

IMAGE = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()


async def said(client: AsyncOpenAI, *messages: Any, **more: Any) -> Any:
    """Return the completion of a conversation."""
    return await client.chat.completions.create(model="desk", messages=list(messages), **more)


def body_of(refused: pytest.ExceptionInfo[openai.APIError]) -> Any:
    """Return the body of a refusal."""
    return refused.value.body


def user(content: Any) -> Any:
    """Return a user's message."""
    return {"role": "user", "content": content}


async def stored(served: Served, name: str = "openai") -> list[dict[str, Any]]:
    """Return a user's sessions with their events."""
    base = f"/apps/desk/users/{name}/sessions"
    found = (await served.ask("GET", base)).json()
    return [(await served.ask("GET", f"{base}/{one['id']}")).json() for one in found]


async def test_agents_are_listed_as_models(client: AsyncOpenAI) -> None:
    assert [one.id async for one in client.models.list()] == ["desk"]
    assert (await client.models.retrieve("desk")).owned_by == "ostinato"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("nobody")


async def test_a_completion(client: AsyncOpenAI) -> None:
    answer = await said(client, user("hi"))
    assert answer.choices[0].message.content == "You said hi"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.prompt_tokens == 3
    assert answer.usage.completion_tokens == 2
    assert answer.usage.total_tokens == 5


async def test_the_agents_own_tool_calls_stay_its_business(client: AsyncOpenAI) -> None:
    answer = await said(client, user("add"))
    assert answer.choices[0].message.content == "add done"
    assert answer.choices[0].message.tool_calls is None
    assert answer.usage.total_tokens == 10


async def test_a_stream(client: AsyncOpenAI) -> None:
    stream = await said(client, user("hi"), stream=True, stream_options={"include_usage": True})
    chunks = [one async for one in stream]
    texts = [one.choices[0].delta.content for one in chunks if one.choices]
    assert [text for text in texts if text] == ["You ", "said ", "hi "]
    reasons = [one.choices[0].finish_reason for one in chunks if one.choices]
    assert [one for one in reasons if one] == ["stop"]
    assert chunks[-1].usage.total_tokens == 5
    assert len({one.id for one in chunks}) == 1


async def test_a_conversation_keeps_its_session(client: AsyncOpenAI, desk: Served) -> None:
    first = await said(client, user("add"))
    answer = first.choices[0].message
    await said(client, user("add"), {"role": "assistant", "content": answer.content}, user("two"))
    (session,) = await stored(desk)
    assert sum(event["author"] == "user" for event in session["events"]) == 2
    again = await said(
        client,
        user("add"),
        {"role": "assistant", "content": [{"type": "text", "text": "another answer"}]},
        user("two"),
    )
    assert again.choices[0].message.content == "You said two"
    sessions = await stored(desk)
    assert len(sessions) == 2
    made = next(one for one in sessions if one["id"] != session["id"])
    texts = [event["content"]["parts"][0]["text"] for event in made["events"]]
    assert texts == ["add", "another answer", "two", "You said two"]


async def test_each_user_has_sessions_of_their_own(client: AsyncOpenAI, desk: Served) -> None:
    await said(client, user("hi"), user="ann")
    await said(
        client, user("hi"), {"role": "assistant", "content": "You said hi"}, user("x"), user="bob"
    )
    assert len(await stored(desk, "ann")) == len(await stored(desk, "bob")) == 1


async def test_instructions_images_sound_and_files_go_in(client: AsyncOpenAI, desk: Served) -> None:
    sound = {"data": base64.b64encode(b"RIFF").decode(), "format": "wav"}
    await said(
        client,
        {"role": "system", "content": "Be brief."},
        user(
            [
                {"type": "image_url", "image_url": {"url": IMAGE}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg?x=1"}},
                {"type": "input_audio", "input_audio": sound},
                {"type": "file", "file": {"file_data": "aGk=", "filename": "a.txt"}},
                {"type": "text", "text": "look"},
            ]
        ),
    )
    (session,) = await stored(desk)
    parts = session["events"][0]["content"]["parts"]
    assert parts[0] == {"text": "Be brief."}
    assert parts[1]["inlineData"]["mimeType"] == "image/png"
    assert parts[2]["fileData"] == {
        "fileUri": "https://example.com/a.jpg?x=1",
        "mimeType": "image/jpeg",
    }
    assert parts[3]["inlineData"]["mimeType"] == "audio/wav"
    assert parts[4]["inlineData"] == {
        "data": "aGk=",
        "displayName": "a.txt",
        "mimeType": "text/plain",
    }
    assert parts[5] == {"text": "look"}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_approval_is_a_call_for_the_client(client: AsyncOpenAI, stream: bool) -> None:
    if stream:
        chunks = [one async for one in await said(client, user("pay"), stream=True)]
        calls = [c for one in chunks for c in one.choices[0].delta.tool_calls or ()]
        assert chunks[-1].choices[0].finish_reason == "tool_calls"
    else:
        choice = (await said(client, user("pay"))).choices[0]
        calls = choice.message.tool_calls
        assert choice.finish_reason == "tool_calls"
    (call,) = calls
    assert call.function.name == "adk_request_confirmation"
    asked = json.loads(call.function.arguments)["originalFunctionCall"]
    assert (asked["name"], asked["args"]) == ("pay", {"amount": 5000, "to": "bob"})
    echo = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
        ],
    }
    result = {"role": "tool", "tool_call_id": call.id}
    with pytest.raises(openai.BadRequestError, match="confirmed"):
        await said(client, user("pay"), echo, {**result, "content": "sure"})
    yes = {**result, "content": '{"confirmed": true}'}
    with pytest.raises(openai.NotFoundError):
        await said(client, user("pay"), echo, yes, user="eve")
    no = {**result, "content": '{"confirmed": false}'}
    for two in ((yes, no), (no, yes), (yes, yes)):
        with pytest.raises(openai.BadRequestError, match=r"pay.*twice"):
            await said(client, user("pay"), echo, *two)
    done = await said(client, user("pay"), echo, {**result, "content": '{"confirmed": true}'})
    assert done.choices[0].message.content == "pay done"
    with pytest.raises(openai.ConflictError) as refused:
        await said(client, user("pay"), echo, {**result, "content": '{"confirmed": true}'})
    assert body_of(refused)["answer"] == {"confirmed": True}


async def test_a_refusal_is_an_answer(client: AsyncOpenAI) -> None:
    choice = (await said(client, user("refused"))).choices[0]
    assert (choice.finish_reason, choice.message.refusal) == ("content_filter", "not that")
    chunks = [one async for one in await said(client, user("refused"), stream=True)]
    assert chunks[-1].choices[0].finish_reason == "content_filter"


async def test_what_fails_is_told_in_openais_words(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as failed:
        await said(client, user("boom"))
    assert failed.value.type == "server_error"
    assert "/" not in str(failed.value.body)
    with pytest.raises(openai.APIError):
        [one async for one in await said(client, user("boom"), stream=True)]
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.chat.completions.create(model="no", messages=[user("hi")])
    assert unknown.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("messages", "more", "param"),
    [
        ([user("hi")], {"n": 2}, "n"),
        ([user("hi")], {"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ([user("hi")], {"response_format": {"type": "json_object"}}, "response_format"),
        ([user("hi")], {"modalities": ["text", "audio"]}, "modalities"),
        ([user("hi")], {"tool_choice": "required"}, "tool_choice"),
        ([user("hi")], {"logprobs": True}, "logprobs"),
        ([user("hi")], {"store": True}, "store"),
        ([user("hi")], {"web_search_options": {}}, "web_search_options"),
        ([user("hi")], {"extra_body": {"unheard_of": 1}}, "unheard_of"),
        ([user([{"type": "file", "file": {"file_id": "f"}}])], {}, "messages.0.content.0"),
        ([], {}, "messages"),
        ([user(3)], {}, None),
        ([user([{"type": "image_url", "image_url": {"url": "data:x;base64,!"}}])], {}, None),
        ([user([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}])], {}, None),
        ([{"role": "assistant", "content": "hi"}], {}, None),
        ([{"role": "tool", "tool_call_id": "call_x", "content": "{}"}], {}, None),
        ([user("hi")], {"user": "a/b"}, None),
    ],
)
async def test_what_cannot_be_had_is_refused(
    client: AsyncOpenAI, messages: Any, more: dict[str, Any], param: str | None
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await said(client, *messages, **more)
    assert refused.value.type == "invalid_request_error"
    assert param is None or refused.value.param == param


async def test_what_says_how_to_sample_is_ignored(client: AsyncOpenAI) -> None:
    answer = await said(
        client,
        user("hi"),
        temperature=0.5,
        max_completion_tokens=5,
        seed=7,
        stop=["x"],
        reasoning_effort="low",
        tool_choice="auto",
        logprobs=False,
        store=False,
    )
    assert answer.choices[0].message.content == "You said hi"


async def test_a_body_that_is_too_deep_is_refused(desk: Served) -> None:
    deep = '{"model": "desk", "messages": ' + "[" * 5000 + "]" * 5000 + "}"
    answer = await desk.client.post(
        "/v1/chat/completions", content=deep, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_a_client_that_vanishes_ends_the_run(live: Served, gate: Gate) -> None:
    body = {"model": "gated", "messages": [user("hi")], "stream": True}
    async with live.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert answer.status_code == 200
        await gate.waiting.acquire()
    await asyncio.wait_for(gate.cancelled.wait(), 60)
