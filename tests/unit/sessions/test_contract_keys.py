"""The contract of every session store of ours: what an idempotency key was first used for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ostinato.durable.inbox import Work
from ostinato.errors import IdempotencyKeyReusedError, StaleSessionError
from ostinato.sessions.session import Session
from ostinato.sessions.store.durable_store import (
    CallAnswer,
    CallChanges,
    CallRequest,
    InboxMessage,
)
from ostinato.sessions.store.keyed_requests import (
    CONTENT_DIGEST,
    REQUEST_DIGEST,
    RequestDigests,
    digests_of_payload,
    keyed_invocation_id,
)
from ostinato.types import Content, Part
from tests.unit.sessions.talk import PLACE, Store, begin, claim, reloaded, said

ID = keyed_invocation_id(PLACE, "k")


def payload(text: str, body: str | None = None) -> str:
    content = Content(role="user", parts=[Part(text=text)])
    metadata = None if body is None else {REQUEST_DIGEST: body}
    return Work(PLACE, ID, content, metadata=metadata, once=True).payload()


def message(text: str, body: str | None = None, owner: str = "me") -> InboxMessage:
    return InboxMessage(ID, owner, f"process of {owner}", payload(text, body))


def digests(text: str, body: str | None = None) -> RequestDigests:
    return digests_of_payload(ID, payload(text, body))


def begun(text: str, body: str | None = None) -> Any:
    given = digests(text, body)
    metadata = {CONTENT_DIGEST: given.content}
    if body is not None:
        metadata[REQUEST_DIGEST] = body
    return said(text, invocation_id=ID, custom_metadata=metadata)


def asked(call: str) -> CallRequest:
    return CallRequest(call, "approval", "pay", "e-0", f"event {call}", "clerk", 1.0, "{}")


def answer(call: str) -> CallAnswer:
    return CallAnswer(call, json.dumps({"confirmed": True}), ID)


async def open_calls(store: Store) -> set[str]:
    return {one.request.call_id for one in (await store.open_requests("app")).requests}


async def test_a_repeated_message_under_a_key_changes_nothing(
    store: Store, session: Session
) -> None:
    assert await store.put_message(PLACE, message("hi"), 30.0)
    assert not await store.put_message(PLACE, message("hi", owner="you"), 30.0)
    (waiting,) = await store.messages(PLACE)
    assert waiting.owner == "me"


async def test_another_message_under_the_key_of_one_that_waits_is_refused(
    store: Store, session: Session
) -> None:
    await store.append(session, [said("asks")], changes=CallChanges(asked=[asked("a"), asked("b")]))
    await store.put_message(PLACE, message("no"), 30.0, [answer("a")])
    with pytest.raises(IdempotencyKeyReusedError):
        await store.put_message(PLACE, message("yes", owner="you"), 30.0, [answer("b")])
    assert [one.payload for one in await store.messages(PLACE)] == [payload("no")]
    assert await open_calls(store) == {"b"}


async def test_a_key_whose_invocation_has_begun_takes_no_message(
    store: Store, session: Session
) -> None:
    await store.append(session, [said("asks")], changes=CallChanges(asked=[asked("a")]))
    await store.append(session, [begun("hi"), said("more", invocation_id=ID, author="clerk")])
    assert not await store.put_message(PLACE, message("hi"), 30.0, [answer("a")])
    with pytest.raises(IdempotencyKeyReusedError):
        await store.put_message(PLACE, message("ho"), 30.0, [answer("a")])
    assert await store.messages(PLACE) == []
    assert await open_calls(store) == {"a"}


async def test_the_bodies_of_two_requests_of_one_server_tell_them_apart(
    store: Store, session: Session
) -> None:
    await store.put_message(PLACE, message("yes", "body 1"), 30.0)
    assert not await store.put_message(PLACE, message("read otherwise", "body 1"), 30.0)
    with pytest.raises(IdempotencyKeyReusedError):
        await store.put_message(PLACE, message("yes", "body 2"), 30.0)
    assert not await store.put_message(PLACE, message("yes"), 30.0)  # from a runner
    with pytest.raises(IdempotencyKeyReusedError):
        await store.put_message(PLACE, message("no"), 30.0)


@pytest.mark.parametrize("first", [True, False], ids=["first in the inbox", "behind another"])
async def test_a_claim_takes_only_its_own_request_out_of_the_inbox(
    store: Store, session: Session, first: bool
) -> None:
    if not first:
        await store.put_message(PLACE, InboxMessage("e-7", "me", "process of me", "{}"), 30.0)
    await store.put_message(PLACE, message("no", "body"), 30.0)
    session = await reloaded(store, session)
    for given, error in (
        (digests("yes"), IdempotencyKeyReusedError),
        (digests("no", "other"), IdempotencyKeyReusedError),
        (digests("read otherwise", "body"), StaleSessionError),
    ):
        with pytest.raises(error):
            await begin(store, session, claim("me", ID, request=given), begun("yes"))
    assert len(await store.messages(PLACE)) == (1 if first else 2)
    assert (await reloaded(store, session)).events == []
    await begin(store, session, claim("me", ID, request=digests("no", "body")), begun("no"))
    assert len(await store.messages(PLACE)) == (0 if first else 1)


async def test_of_two_requests_under_one_key_at_once_one_is_stored(
    store: Store, session: Session
) -> None:
    outcomes = await asyncio.gather(
        *(store.put_message(PLACE, message(text), 30.0) for text in ("yes", "no")),
        return_exceptions=True,
    )
    assert {type(one) for one in outcomes} == {bool, IdempotencyKeyReusedError}
    assert len(await store.messages(PLACE)) == 1
