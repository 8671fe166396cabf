"""The openai SDK's Responses against our server: a response names a session and an invocation."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.unit.server.conftest import Served
from tests.unit.server.facades.openai.test_chat import IMAGE, stored

pytestmark = pytest.mark.long


async def respond(client: AsyncOpenAI, words: Any, /, **more: Any) -> Any:
    """Return a response."""
    return await client.responses.create(model="desk", input=words, **more)


async def test_a_response(client: AsyncOpenAI) -> None:
    found = await respond(client, "hi", metadata={"a": "b"})
    assert found.output_text == "You said hi"
    assert (found.status, found.model, found.metadata) == ("completed", "desk", {"a": "b"})
    assert found.usage.total_tokens == 5
    assert found.error is None


async def test_a_response_goes_on_from_another(client: AsyncOpenAI, desk: Served) -> None:
    first = await respond(client, "one", instructions="Be brief.")
    second = await respond(client, "two", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    (session,) = await stored(desk)
    assert [e["author"] for e in session["events"]] == ["user", "desk"] * 2
    assert session["events"][0]["content"]["parts"] == [{"text": "Be brief."}, {"text": "one"}]
    await respond(client, "other", previous_response_id=first.id)
    forked = next(one for one in await stored(desk) if one["id"] != session["id"])
    texts = [e["content"]["parts"][-1]["text"] for e in forked["events"]]
    assert texts == ["one", "You said one", "other", "You said other"]


async def test_a_stream(client: AsyncOpenAI) -> None:
    events = [one async for one in await respond(client, "hi", stream=True)]
    assert [one.type for one in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [one.sequence_number for one in events] == list(range(11))
    last = events[-1].response
    assert last.output_text == "You said hi "
    assert last.id == events[0].response.id
    assert last.usage.total_tokens == 5
    async with client.responses.stream(model="desk", input="and?") as stream:
        final = await stream.get_final_response()
    assert final.output_text == "You said and? "


@pytest.mark.parametrize("stream", [False, True])
async def test_an_approval_is_a_call_for_the_client(client: AsyncOpenAI, stream: bool) -> None:
    first: Any
    if stream:
        async with client.responses.stream(model="desk", input="pay") as events:
            first = await events.get_final_response()
    else:
        first = await respond(client, "pay")
    (call,) = first.output
    assert (call.type, call.name) == ("function_call", "adk_request_confirmation")
    assert json.loads(call.arguments)["originalFunctionCall"]["name"] == "pay"
    answer = {"type": "function_call_output", "call_id": call.call_id}
    for output in ("x", '{"confirmed": false, "confirmed": true}', '{"confirmed": 1}'):
        with pytest.raises(openai.BadRequestError, match="confirmed"):
            await respond(client, [{**answer, "output": output}], previous_response_id=first.id)
    yes, no = ({**answer, "output": json.dumps({"confirmed": one})} for one in (True, False))
    for two in ([yes, no], [no, yes], [yes, yes]):
        with pytest.raises(openai.BadRequestError, match=f"{call.call_id}.*twice"):
            await respond(client, two, previous_response_id=first.id)
    done = await respond(client, [yes], previous_response_id=first.id)
    assert done.output_text == "pay done"


async def test_an_answer_to_an_older_response_counts_once_and_never_forks(
    client: AsyncOpenAI, desk: Served
) -> None:
    first = await respond(client, "pay", user="ann")
    (call,) = first.output
    await respond(client, "interlude", previous_response_id=first.id)
    output = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": '{"confirmed": true}',
    }
    with pytest.raises(openai.NotFoundError):
        await respond(client, [output], previous_response_id=first.id, user="eve")
    done = await respond(client, [output], previous_response_id=first.id)
    assert done.output_text == "pay done"
    for _ in range(2):
        with pytest.raises(openai.ConflictError) as refused:
            await respond(client, [output], previous_response_id=first.id)
        body: Any = refused.value.body
        assert body["answer"] == {"confirmed": True}
    (session,) = await stored(desk, "ann")
    assert str(session["events"]).count("'paid'") == 1
    assert (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []


async def test_words_to_an_older_response_leave_its_call_to_the_session_it_is_from(
    client: AsyncOpenAI, desk: Served
) -> None:
    first = await respond(client, "pay", user="ann")
    (call,) = first.output
    await respond(client, "interlude", previous_response_id=first.id)
    other = await respond(client, "never mind", previous_response_id=first.id)
    assert len(await stored(desk, "ann")) == 2
    waiting = (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"]
    assert len(waiting) == 1
    output = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": '{"confirmed": true}',
    }
    with pytest.raises(openai.NotFoundError, match="closed"):
        await respond(client, [output], previous_response_id=other.id)
    done = await respond(client, [output], previous_response_id=first.id)
    assert done.output_text == "pay done"
    assert str(await stored(desk, "ann")).count("'paid'") == 1


async def test_messages_and_images_go_in(client: AsyncOpenAI, desk: Served) -> None:
    await respond(
        client,
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "type": "message",
                "content": [{"type": "output_text", "text": "hello"}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "aGk="},
                    {"type": "input_text", "text": "look"},
                ],
            },
        ],
    )
    (session,) = await stored(desk)
    assert [e["author"] for e in session["events"]] == ["user", "desk", "user", "desk"]
    kinds = [p["inlineData"]["mimeType"] for p in session["events"][2]["content"]["parts"][:2]]
    assert kinds == ["image/png", "application/pdf"]


async def test_what_fails_is_told(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError):
        await respond(client, "boom")
    kinds: list[str] = []
    with pytest.raises(openai.APIError):
        async for one in await respond(client, "boom", stream=True):
            kinds.append(one.type)
            if one.type == "response.failed":
                raise openai.APIError("failed", request=None, body=None)  # type: ignore[arg-type]
    refused = await respond(client, "refused")
    assert refused.output[0].content[0].refusal == "not that"


@pytest.mark.parametrize(
    ("text", "more", "kind"),
    [
        ("hi", {"tools": [{"type": "web_search"}]}, openai.BadRequestError),
        ("hi", {"background": True}, openai.BadRequestError),
        ("hi", {"conversation": "c"}, openai.BadRequestError),
        ("hi", {"store": False}, openai.BadRequestError),
        ("hi", {"max_tool_calls": 0}, openai.BadRequestError),
        ("hi", {"include": ["reasoning.encrypted_content"]}, openai.BadRequestError),
        ("hi", {"extra_body": {"unheard_of": 1}}, openai.BadRequestError),
        ("hi", {"text": {"format": {"type": "json_object"}}}, openai.BadRequestError),
        ("", {}, openai.BadRequestError),
        ([{"type": "unknown"}], {}, openai.BadRequestError),
        ("hi", {"previous_response_id": "resp_no"}, openai.NotFoundError),
        ("hi", {"previous_response_id": "resp_WyJhIiwiYiIsImMiXQ"}, openai.NotFoundError),
        (
            [{"type": "function_call_output", "call_id": "c", "output": "{}"}],
            {},
            openai.BadRequestError,
        ),
    ],
)
async def test_what_cannot_be_had_is_refused(
    client: AsyncOpenAI, text: Any, more: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await respond(client, text, **more)
