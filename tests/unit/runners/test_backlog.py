"""Requests that nobody waits for: submitted, taken, run once, handed over; nothing is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import InputValidationError, SessionNotFoundError
from ostinato.plugins import BasePlugin
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions.store.durable_store import Claim
from ostinato.testing import call
from tests.unit.flows.kit import SESSION, USER, Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_busy_sessions import Gate, words
from tests.unit.runners.test_recovery import AWAY, DEAD, left_open


async def submit(talk: Talk, text: Any, **options: Any) -> str:
    return await talk.runner.submit(user_id=USER, session_id=SESSION, new_message=text, **options)


async def run_all(talk: Talk) -> list[tuple[str, str]]:
    """Run all that can be taken; return invocations and outcomes."""
    backlog = talk.runner.backlog()
    done: list[Any] = []
    while taken := await backlog.take(10):
        for place, invocation_id in taken:
            done += await backlog.ensure(place, invocation_id)
    return [(one.invocation_id, one.outcome) for one in done]


async def test_a_submitted_message_waits_for_any_process(two_owners: list[Owner]) -> None:
    one, two = two_owners
    talk = one.talk([])
    first = await submit(talk, "first", state_delta={"k": 1})
    second = await submit(talk, "second")
    other = two.talk(["One.", "Two."])
    assert await run_all(other) == [(first, "finished"), (second, "finished")]
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]
    assert await talk.state() == {"k": 1}
    assert {e.invocation_id for e in await talk.stored()} == {first, second}


async def test_a_key_names_one_invocation_however_often_it_is_submitted(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    talk = one.talk([])
    name = await submit(talk, "hello", idempotency_key="k")
    assert await submit(talk, "hello", idempotency_key="k") == name
    other = two.talk(["Hi.", "Again."])
    assert await run_all(other) == [(name, "finished")]
    assert await submit(talk, "hello", idempotency_key="k") == name
    await run_all(other)
    assert words(await talk.stored()) == ["hello", "Hi."]
    assert await two.service.messages(PLACE) == []
    place: dict[str, Any] = {"user_id": USER, "session_id": SESSION}
    again = [
        e async for e in other.runner.run_async(**place, new_message="hello", idempotency_key="k")
    ]
    assert [e.invocation_id for e in again] == [name]


async def test_what_cannot_be_submitted(two_owners: list[Owner]) -> None:
    talk = two_owners[0].talk([])
    with pytest.raises(InputValidationError, match="No parts"):
        await submit(talk, types.Content(role="user", parts=[]))
    with pytest.raises(InputValidationError, match="JSON"):
        await submit(talk, "hi", state_delta={"k": object()})
    assert await two_owners[0].service.waiting_places() == []
    strict = Runner(agent=talk.runner.agent, app_name="talk", session_service=two_owners[0].service)
    with pytest.raises(SessionNotFoundError):
        await strict.submit(user_id=USER, session_id="nowhere", new_message="hi")
    lonely = InMemoryRunner(agent=talk.runner.agent)
    with pytest.raises(InputValidationError, match="SqliteSessionService"):
        await lonely.submit(user_id=USER, session_id="s", new_message="hi")


async def test_ensure_goes_on_with_what_was_left_open_and_does_nothing_twice(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one)
    talk = two.talk(["Here I am."])
    backlog = talk.runner.backlog()
    assert [(p, i) for p, i, _ in await backlog.find_abandoned()] == [(PLACE, "e-left")]
    assert await backlog.find_abandoned(without=[PLACE]) == []
    assert [r.outcome for r in await backlog.ensure(PLACE, "e-left")] == ["finished"]
    assert await backlog.ensure(PLACE, "e-left") == []
    assert await backlog.ensure(PLACE, "e-unknown") == []
    assert words(await talk.stored()) == ["left", "Here I am."]


async def test_ensure_leaves_what_a_living_owner_runs(two_owners: list[Owner]) -> None:
    one, two = two_owners
    await left_open(one, process=AWAY)
    talk = two.talk([])
    assert await talk.runner.backlog().ensure(PLACE, "e-left") == []
    assert words(await talk.stored()) == ["left"]


async def test_ensure_first_runs_what_was_left_before_a_message(two_owners: list[Owner]) -> None:
    one, two = two_owners
    await left_open(one)
    talk = two.talk(["To the left one.", "To the next one."])
    name = await submit(talk, "next")
    done = await talk.runner.backlog().ensure(PLACE, name)
    assert [one.invocation_id for one in done] == ["e-left", name]
    assert words(await talk.stored()) == ["left", "To the left one.", "next", "To the next one."]


async def test_ensure_waits_for_the_run_of_another_owner(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait"), "One."], [gate.wait]).say("first"))
    await gate.begun.wait()
    talk = two.talk(["Two."])
    name = await submit(talk, "second")
    assert await talk.runner.backlog().take(10) == []
    waiting = asyncio.create_task(talk.runner.backlog().ensure(PLACE, name))
    await asyncio.sleep(0)
    gate.let.set()
    await first
    assert [r.outcome for r in await waiting] == ["finished"]
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


async def test_a_message_that_a_dead_process_had_taken_is_found_at_once(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    talk = two.talk(["Hi."])
    name = await submit(talk, "hello")
    for process in (AWAY, DEAD):
        taken = await one.service.take_messages("talk", f"who was {process}", process, 0.0, 10)
        assert taken == [(PLACE, name)]
        await one.service.renew_messages(f"who was {process}", 60.0)
        backlog = talk.runner.backlog()
        assert await backlog.take(10) == []
        assert await backlog.find_abandoned() == ([(PLACE, name, 0)] if process == DEAD else [])
        assert await backlog.find_abandoned(without=[PLACE]) == []
        if process == AWAY:
            await one.service.renew_messages(f"who was {process}", -1.0)
    assert [r.outcome for r in await talk.runner.backlog().ensure(PLACE, name)] == ["finished"]
    assert words(await talk.stored()) == ["hello", "Hi."]


async def test_what_is_handed_over_is_not_sealed_and_another_goes_on(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "Never."], [gate.wait])
    name = await submit(talk, "go")
    backlog = talk.runner.backlog()
    assert await backlog.take(1) == [(PLACE, name)]
    running = asyncio.create_task(backlog.ensure(PLACE, name))
    await gate.begun.wait()
    running.cancel()
    (left,) = await running
    assert left.outcome == "handed over"
    assert len(await talk.stored()) == 2  # the message and the call, which nobody has answered
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.left <= 0 and lease.attempts == 0
    gate.let.set()
    other = two.talk(["Went on."], [gate.wait])
    assert [r.outcome for r in await other.runner.backlog().ensure(PLACE, name)] == ["finished"]
    log = await other.check_sound()
    assert words(log) == ["go", "Went on."]


class Checks(BasePlugin):
    """A hook for messages, so that a session is claimed before the message is stored."""

    def __init__(self) -> None:
        super().__init__(name="checks")
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.seen = 0

    async def on_user_message_callback(self, **_: Any) -> None:
        self.seen += 1
        self.begun.set()
        await self.let.wait()


async def test_a_message_outlives_a_crash_between_its_claim_and_its_first_event(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    other = two.talk(["Hi."])
    name = await submit(other, "hello")
    session = await one.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    assert session is not None
    digest = other.runner._contexts.make_turn(
        other.runner._request((USER, SESSION), "x", None, None, None)
    )
    wish = Claim("gone", AWAY, -1.0, name, digest.digest, message=name, keep_message=True)
    await one.service.append(session, [], claim=wish)
    assert [r.outcome for r in await other.runner.backlog().ensure(PLACE, name)] == ["finished"]
    assert words(await other.stored()) == ["hello", "Hi."]
    assert await two.service.messages(PLACE) == []
    assert await two.service.open_leases() == []


async def test_a_claim_for_hooks_leaves_the_message_until_its_event_is_stored(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    checks = Checks()
    talk = one.talk(["Hi."])
    talk.runner.plugin_manager.register_plugin(checks)
    name = await submit(talk, "hello")
    running = asyncio.create_task(talk.runner.backlog().ensure(PLACE, name))
    await checks.begun.wait()
    assert [m.invocation_id for m in await two.service.messages(PLACE)] == [name]
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.invocation_id == name
    checks.let.set()
    assert [r.outcome for r in await running] == ["finished"]
    assert await two.service.messages(PLACE) == []
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.attempts == 1 and checks.seen == 1
    assert words(await talk.stored()) == ["hello", "Hi."]


async def test_what_was_claimed_and_never_stored_is_given_back(two_owners: list[Owner]) -> None:
    """As a rewind leaves it whose process dies."""
    one, two = two_owners
    talk = two.talk(["Hi."])
    await one.service.create_session(app_name="talk", user_id=USER, session_id=SESSION)
    session = await one.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    assert session is not None
    turn = talk.runner._contexts.make_turn(
        talk.runner._request((USER, SESSION), "x", None, None, None)
    )
    wish = Claim("gone", AWAY, -1.0, "e-nothing", turn.digest)
    await one.service.append(session, [], claim=wish)
    assert [r.outcome for r in await talk.runner.resume_open()] == ["finished"]
    await talk.runner.close()
    assert await two.service.open_leases() == []
    assert await two.service.open_leases(stuck=True) == []
