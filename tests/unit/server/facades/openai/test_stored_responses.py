"""Responses that were given before: retrieved, their input listed, deleted."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI, ConflictError, InternalServerError, NotFoundError


async def test_a_response_is_retrieved_with_what_it_said(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="desk", input="hello")
    again = await client.responses.retrieve(made.id)
    assert (again.id, again.status, again.model) == (made.id, "completed", "desk")
    assert again.output_text == made.output_text == "You said hello"
    assert again.usage is not None and made.usage is not None
    assert again.usage.total_tokens == made.usage.total_tokens > 0


async def test_a_response_that_waits_is_retrieved_with_its_call(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="desk", input="pay")
    again = await client.responses.retrieve(made.id)
    assert [one.type for one in again.output] == [one.type for one in made.output]


async def test_the_input_of_a_response_is_listed(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="desk", input="hello")
    items = (await client.responses.input_items.list(made.id)).data
    assert [one.content[0].text for one in items] == ["hello"]  # type: ignore[union-attr]


@pytest.mark.long
async def test_a_response_is_deleted_unless_others_follow_it(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="desk", input="one")
    second = await client.responses.create(model="desk", input="two", previous_response_id=first.id)
    with pytest.raises(ConflictError):
        await client.responses.delete(first.id)
    assert (await client.responses.retrieve(second.id)).output_text == "You said two"
    alone = await client.responses.create(model="desk", input="three")
    await client.responses.delete(alone.id)
    with pytest.raises(NotFoundError):
        await client.responses.retrieve(alone.id)


@pytest.mark.parametrize("name", ["resp_none", "resp_WyJhIl0", "other"])
async def test_what_is_no_response_is_not_found(client: AsyncOpenAI, name: str) -> None:
    with pytest.raises(NotFoundError):
        await client.responses.retrieve(name)


async def test_an_error_of_the_agent_has_its_type_and_an_id(
    client: AsyncOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InternalServerError) as failed:
        await client.chat.completions.create(
            model="desk", messages=[{"role": "user", "content": "boom"}]
        )
    told = failed.value.body
    assert isinstance(told, dict)
    assert told["code"] == "RuntimeError" and "fell over" not in str(told)
    assert told["id"] in told["message"] and told["id"] in caplog.text
    assert "the model fell over" in caplog.text
