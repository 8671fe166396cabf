"""The contract of every session store of ours: journal, inbox, and appends from outside a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.errors import SessionBusyError, SessionNotFoundError, StaleSessionError
from ostinato.sessions.session import Session, log_of, revision_of
from ostinato.sessions.store.durable_store import Fence, InboxMessage, JournalRow, Place
from tests.unit.sessions.talk import (
    OWNER,
    PLACE,
    STALE,
    Clock,
    Passing,
    Store,
    begin,
    claim,
    reloaded,
    said,
    texts,
)


async def test_several_events_with_journal_rows(store: Store, session: Session) -> None:
    rows = [JournalRow("e-1", "c1", "started", "pay")]
    fence = await store.append(
        session, [said("a", {"n": 1}), said("b", {"n": 2})], rows, claim=claim()
    )
    await store.append(session, [], [JournalRow("e-1", "c1", "finished", "pay", "{}")], fence)
    assert texts(await reloaded(store, session)) == ["a", "b"]
    assert session.state == {"n": 2}


async def test_which_row_replaces_which(store: Store, session: Session) -> None:
    started = [JournalRow("e-1", call, "started", "pay") for call in ("c1", "c2")]
    finished = JournalRow("e-1", "c1", "finished", "pay", '{"a":1}')
    await store.append(session, [said("call")], started)
    assert await store.journal(PLACE, "e-1") == started
    await store.append(session, [], [finished])
    await store.append(session, [], started)
    assert await store.journal(PLACE, "e-1") == [finished, started[1]]
    better = JournalRow("e-1", "c1", "finished", "pay", '{"a":2}')
    await store.append(session, [], [better])
    assert await store.journal(PLACE, "e-1") == [better, started[1]]


async def test_checkpoints_replace_each_other(store: Store, session: Session) -> None:
    for n in range(3):
        await store.append(session, [], [JournalRow("e-1", "agent:a.b", "state", "b", str(n))])
    assert await store.journal(PLACE, "e-1") == [JournalRow("e-1", "agent:a.b", "state", "b", "2")]


async def test_rows_are_of_one_session_and_one_invocation(store: Store, session: Session) -> None:
    other = await store.create_session(**OWNER, session_id="s2")
    for each, invocation in ((session, "e-1"), (session, "e-2"), (other, "e-1")):
        await store.append(each, [], [JournalRow(invocation, "c1", "started", each.id)])
    assert await store.journal(PLACE, "e-1") == [JournalRow("e-1", "c1", "started", "s1")]
    assert await store.journal(PLACE, "e-3") == []
    assert await store.journal(Place("app", "ann", "nobody"), "e-1") == []


@pytest.mark.parametrize("keep", [True, False])
async def test_a_release_takes_the_rows_of_its_invocation_with_it(
    store: Store, session: Session, keep: bool
) -> None:
    rows = [JournalRow(name, "c1", "finished", "pay", "1") for name in ("e-1", "e-2")]
    fence = await store.append(session, [], rows, claim=claim())
    assert fence is not None
    await store.release(PLACE, type(fence)("me", 9))
    assert await store.journal(PLACE, "e-1") == rows[:1]
    await store.release(PLACE, fence, keep_rows=keep)
    assert await store.journal(PLACE, "e-1") == (rows[:1] if keep else [])
    assert await store.journal(PLACE, "e-2") == rows[1:]


async def test_a_parked_invocation_keeps_its_rows(store: Store, session: Session) -> None:
    rows = [JournalRow("e-1", "c1", "started", "pay")]
    fence = await store.append(session, [], rows, claim=claim())
    assert fence is not None
    await store.park(PLACE, fence, "why")
    assert await store.journal(PLACE, "e-1") == rows


def message(invocation: str, owner: str = "me", payload: str = "{}") -> InboxMessage:
    return InboxMessage(invocation, owner, f"process of {owner}", payload)


async def waiting(store: Store, place: Place = PLACE) -> list[str]:
    return [each.invocation_id for each in await store.messages(place)]


async def test_messages_wait_in_the_order_in_which_they_came(
    store: Store, session: Session
) -> None:
    assert await waiting(store) == []
    passing = Passing()
    for name in ("e-3", "e-1", "e-2", "e-1"):
        await store.put_message(PLACE, message(name, payload=f'"{name}"'), 20.0)
    await store.put_message(PLACE, message("e-1", "you", "other"), 20.0)  # is there already
    found = await store.messages(PLACE)
    assert [each.invocation_id for each in found] == ["e-3", "e-1", "e-2"]
    assert (found[1].owner, found[1].process, found[1].payload) == ("me", "process of me", '"e-1"')
    assert all(passing.leaves(each.left, of=20) for each in found)
    await store.leave_message(PLACE, "e-1", keep=False)
    await store.leave_message(PLACE, "e-9", keep=False)
    assert await waiting(store) == ["e-3", "e-2"]
    await store.put_message(PLACE, message("e-4"), 20.0)
    assert await waiting(store) == ["e-3", "e-2", "e-4"]


async def test_no_message_without_a_session(store: Store, session: Session) -> None:
    gone = Place("app", "ann", "nobody")
    with pytest.raises(SessionNotFoundError, match="nobody"):
        await store.put_message(gone, message("e-1"), 20.0)
    await store.leave_message(gone, "e-1", keep=True)
    await store.put_message(PLACE, message("e-1"), 20.0)
    await store.delete_session(**OWNER, session_id="s1")
    assert await waiting(store) == []
    assert await store.waiting_places() == []


async def test_messages_are_renewed_and_left_by_their_owner(
    store: Store, session: Session, clock: Clock
) -> None:
    for name, owner in (("e-1", "me"), ("e-2", "you"), ("e-3", "me")):
        await store.put_message(PLACE, message(name, owner), 20.0)
    clock.now += 15
    await store.renew_messages("me", 60.0)
    assert [round(each.left) for each in await store.messages(PLACE)] == [60, 5, 60]
    await store.leave_message(PLACE, "e-3", keep=True)
    last = (await store.messages(PLACE))[2]
    assert (last.owner, last.payload) == ("", "{}")
    assert last.left <= 0


async def test_a_claim_takes_its_message(store: Store, session: Session) -> None:
    for name in ("e-1", "e-2"):
        await store.put_message(PLACE, message(name), 20.0)
    await begin(store, session, claim(invocation="e-2"))  # its owner keeps the order itself
    assert await waiting(store) == ["e-1"]


async def test_another_owners_message_goes_first(store: Store, session: Session) -> None:
    await store.put_message(PLACE, message("e-1", "you"), 20.0)
    await store.put_message(PLACE, message("e-2", "me"), 20.0)
    for wish in (claim(invocation="e-2"), claim(invocation="e-3")):
        with pytest.raises(SessionBusyError, match="'e-1'"):
            await store.append(session, [said("refused")], claim=wish)
    assert await waiting(store) == ["e-1", "e-2"]
    assert await store.lease(PLACE) is None
    await begin(store, session, claim("me", "e-0", jump=True))
    assert await waiting(store) == ["e-1", "e-2"]
    fence = await begin(store, session, claim("you", "e-1", over=1))
    await store.release(PLACE, fence)
    await begin(store, session, claim("me", "e-2"))
    assert await waiting(store) == []
    assert (await reloaded(store, session)).events == []


async def test_a_message_nobody_waits_for_is_run_by_whoever_claims_it(
    store: Store, session: Session
) -> None:
    await store.put_message(PLACE, message("e-1", "you"), 20.0)
    await store.leave_message(PLACE, "e-1", keep=True)
    with pytest.raises(SessionBusyError):
        await begin(store, session, claim(invocation="e-2"))
    await begin(store, session, claim(invocation="e-1"))
    assert await waiting(store) == []


async def test_places_that_wait(store: Store, clock: Clock) -> None:
    assert await store.waiting_places() == []
    places = [Place(app, "ann", name) for app, name in (("app", "b"), ("z", "c"), ("app", "a"))]
    for number, place in enumerate(places):
        await store.create_session(
            app_name=place.app_name, user_id="ann", session_id=place.session_id
        )
        clock.now += 1
        await store.put_message(place, message(f"e-{number}"), 20.0)
    await store.put_message(places[0], message("e-9"), 20.0)
    assert await store.waiting_places() == places
    assert await store.waiting_places("app") == [places[0], places[2]]
    assert await store.waiting_places(limit=1) == places[:1]
    await store.leave_message(places[0], "e-0", keep=False)
    assert await store.waiting_places() == [*places[1:], places[0]]


@pytest.mark.spec(194)
async def test_a_stale_append_from_outside_is_refused(store: Store, session: Session) -> None:
    mine, theirs = await reloaded(store, session), await reloaded(store, session)
    await store.append_event(theirs, said("theirs", {"k": 1, "other": 1}))
    late = said("mine", {"k": 2, "user:u": 1, "app:a": 1})
    with pytest.raises(StaleSessionError) as caught:
        await store.append(mine, [said("before"), late], [JournalRow("e-1", "c", "started", "t")])
    assert str(caught.value) == STALE
    assert (texts(mine), mine.state) == ([], {})
    again = await reloaded(store, session)
    assert (texts(again), again.state) == (["theirs"], {"k": 1, "other": 1})
    assert await store.journal(PLACE, "e-1") == []
    await store.append_event(again, late)
    assert (await reloaded(store, session)).state == {
        "k": 2, "other": 1, "user:u": 1, "app:a": 1
    }  # fmt: skip


@pytest.mark.spec(194)
@pytest.mark.parametrize(
    ("theirs", "mine", "clash"),
    [
        ({"k": 1}, {"j": 1}, False),
        ({"k": 1}, {}, False),
        ({}, {"k": 1}, False),
        ({"k": [1, {"a": "ö"}]}, {"k": [1, {"a": "ö"}]}, False),
        ({"k": 1}, {"k": True}, True),
        ({"k": 1}, {"k": None}, True),
        ({"k": None}, {"k": 1}, True),
        ({"k": None}, {"k": None}, False),
        ({"user:k": 1, "app:k": 1}, {"user:k": 2, "app:k": 2}, False),
        ({"k": 1}, {"temp:k": 2}, False),
    ],
)
async def test_what_clashes(
    store: Store, session: Session, theirs: dict[str, Any], mine: dict[str, Any], clash: bool
) -> None:
    other = await reloaded(store, session)
    await store.append_event(other, said("theirs", theirs))
    if not clash:
        await store.append_event(session, said("mine", mine))
        again = await reloaded(store, session)
        assert texts(again) == ["theirs", "mine"]
        assert again.state == {
            k: v for k, v in (theirs | mine).items() if v is not None and k[:5] != "temp:"
        }
        return
    with pytest.raises(StaleSessionError):
        await store.append_event(session, said("mine", mine))


@pytest.mark.spec(194)
async def test_a_value_that_was_never_seen_is_not_overwritten_later_either(
    store: Store, session: Session
) -> None:
    mine, theirs = await reloaded(store, session), await reloaded(store, session)
    await store.append_event(theirs, said("theirs", {"k": 1}))
    await store.append_event(mine, said("no clash", {"mine": 1}))
    assert revision_of(mine) == 0
    await store.append_event(mine, said("nor here", {"mine": 2}))
    with pytest.raises(StaleSessionError):
        await store.append_event(mine, said("here", {"k": 2}))
    assert (await reloaded(store, session)).state == {"k": 1, "mine": 2}


async def test_ones_own_appends_never_clash(store: Store, session: Session) -> None:
    for n in range(3):
        await store.append_event(session, said(f"one {n}", {"k": n}))
        assert revision_of(session) == n + 1
    await asyncio.gather(
        *(store.append_event(session, said(f"many {n}", {"k": n})) for n in range(20))
    )
    assert revision_of(session) == 23 == len(log_of(session))
    assert (await reloaded(store, session)).state == {"k": 19}


async def test_an_event_that_is_stored_already_never_clashes(
    store: Store, session: Session
) -> None:
    old, event = await reloaded(store, session), said("first", {"k": 1})
    await store.append_event(session, event)
    await store.append_event(session, said("second", {"k": 2}))
    await store.append_event(old, event)
    again = await reloaded(store, session)
    assert (texts(again), again.state) == (["first", "second"], {"k": 2})


async def test_listed_and_limited_sessions_know_their_revision(
    store: Store, session: Session
) -> None:
    for n in range(3):
        await store.append_event(session, said("m", {"k": n}))
    listed = (await store.list_sessions(**OWNER)).sessions[0]
    part = await reloaded(store, session, num_recent_events=1)
    copied = listed.model_copy()
    for each in (listed, part, copied):
        assert revision_of(each) == 3
    await store.append_event(listed, said("m", {"k": 9}))
    assert (await reloaded(store, session)).state == {"k": 9}


async def test_a_claim_takes_the_message_it_names_whatever_it_begins(
    store: Store, session: Session
) -> None:
    """A message that answers a call goes on with the invocation of the call."""
    await store.put_message(PLACE, message("e-answer", owner=""), 0.0)
    await begin(store, session, claim(invocation="e-1", message="e-answer"))
    assert await waiting(store) == []


async def test_a_claim_may_leave_its_message_for_a_later_one(
    store: Store, session: Session
) -> None:
    await store.put_message(PLACE, message("e-1", owner=""), 0.0)
    await begin(store, session, claim(keep_message=True))
    assert await waiting(store) == ["e-1"]
    assert await begin(store, session, claim(), said("its event")) == Fence("me", 2)
    assert await waiting(store) == []
    lease = await store.lease(PLACE)
    assert lease is not None and (lease.attempts, lease.invocation_id) == (1, "e-1")


async def test_messages_nobody_waits_for_are_taken_one_of_each_session(
    store: Store, clock: Clock
) -> None:
    places = []
    for name in ("s1", "s2", "s3"):
        await store.create_session(**OWNER, session_id=name)
        place = Place("app", "ann", name)
        places.append(place)
        for number in (1, 2):
            clock.now += 1
            await store.put_message(place, message(f"e-{name}-{number}", owner=""), 0.0)
    clock.now += 1
    taken = await store.take_messages("app", "you", "p", 30.0, 2)
    assert taken == [(places[0], "e-s1-1"), (places[1], "e-s2-1")]
    assert [(m.owner, m.process) for m in await store.messages(places[0])] == [
        ("you", "p"),
        ("", "process of "),
    ]
    assert await store.take_messages("app", "she", "p", 30.0, 9) == [(places[2], "e-s3-1")]
    assert await store.take_messages("app", "she", "p", 30.0, 9) == []
    clock.now += 29
    assert await store.take_messages("app", "she", "p", 30.0, 9) == []
    await store.renew_messages("you", 30.0)
    clock.now += 2
    assert await store.take_messages("app", "he", "p", 30.0, 9) == [(places[2], "e-s3-1")]


async def test_messages_of_others_of_another_app_and_of_held_sessions_are_not_taken(
    store: Store, session: Session, clock: Clock
) -> None:
    await store.put_message(PLACE, message("e-live", owner="alive"), 30.0)
    clock.now += 1
    assert await store.take_messages("app", "you", "p", 30.0, 9) == []
    await store.leave_message(PLACE, "e-live", keep=True)
    assert await store.take_messages("another", "you", "p", 30.0, 9) == []
    fence = await begin(store, session, claim("he", "e-0", jump=True, message=None))
    assert await store.take_messages("app", "you", "p", 30.0, 9) == []
    clock.now += 100  # its lease has ended: the invocation that was left open comes first
    assert await store.take_messages("app", "you", "p", 30.0, 9) == []
    await store.park(PLACE, fence, "no way")
    assert await store.take_messages("app", "you", "p", 30.0, 9) == [(PLACE, "e-live")]


async def test_two_that_take_at_once_are_given_different_messages(
    store: Store, clock: Clock
) -> None:
    for number in range(20):
        name = f"s{number}"
        await store.create_session(**OWNER, session_id=name)
        await store.put_message(Place("app", "ann", name), message(f"e-{name}", owner=""), 0.0)
    clock.now += 1
    both = await asyncio.gather(
        *(store.take_messages("app", f"owner {n}", "p", 30.0, 10) for n in range(2))
    )
    names = [name for taken in both for _, name in taken]
    rest = await store.take_messages("app", "owner 3", "p", 30.0, 20)
    names += [name for _, name in rest]
    assert sorted(names) == sorted(f"e-s{n}" for n in range(20))
