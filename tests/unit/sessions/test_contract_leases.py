"""The contract of every session store of ours: leases, and who may append."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.errors import (
    InputValidationError,
    LeaseLostError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
)
from ostinato.sessions.session import Session, revision_of
from ostinato.sessions.store.durable_store import Fence, JournalRow, Place, Renewal
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


async def refused(store: Store, session: Session, error: type[Exception], **how: Any) -> str:
    """Append with rows and state what has to be refused; check that nothing of it was stored."""
    event = said("refused", {"refused": 1, "user:refused": 1, "app:refused": 1})
    rows = [JournalRow("e-9", "c9", "started", "pay")]
    before = await store.lease(PLACE), await store.messages(PLACE), revision_of(session)
    with pytest.raises(error) as caught:
        await store.append(session, [event], rows, **how)
    after = await store.lease(PLACE), await store.messages(PLACE), revision_of(session)
    if before[0] is not None and after[0] is not None:
        assert before[0].token == after[0].token
        assert before[0].owner == after[0].owner
    assert (before[1:][0] == []) == (after[1:][0] == [])
    assert before[2] == after[2]
    again = await reloaded(store, session)
    assert "refused" not in texts(again)
    assert "refused" not in str(again.state)
    assert "refused" not in texts(session)
    assert await store.journal(PLACE, "e-9") == []
    return str(caught.value)


async def test_a_session_never_run_has_no_lease(store: Store, session: Session) -> None:
    assert await store.lease(PLACE) is None
    assert await store.lease(Place("app", "ann", "nobody")) is None
    assert await store.open_leases() == []


async def test_a_claim_rides_with_the_first_append(store: Store, session: Session) -> None:
    rows, passing = [JournalRow("e-1", "c1", "started", "pay")], Passing()
    fence = await store.append(session, [said("hello", {"n": 1})], rows, claim=claim(revision=0))
    assert fence == Fence("me", 1)
    assert texts(session) == texts(await reloaded(store, session)) == ["hello"]
    assert await store.journal(PLACE, "e-1") == rows
    lease = await store.lease(PLACE)
    assert lease is not None
    assert passing.leaves(lease.left, of=30)
    assert (lease.place, lease.owner, lease.process) == (PLACE, "me", "process of me")
    assert (lease.token, lease.invocation_id, lease.digest) == (1, "e-1", "digest")
    assert (lease.attempts, lease.stuck) == (1, "")


async def test_a_claim_without_events(store: Store, session: Session) -> None:
    assert await begin(store, session, claim()) == Fence("me", 1)
    assert (await reloaded(store, session)).events == []


async def test_another_owner_is_refused_while_the_lease_lasts(
    store: Store, session: Session, clock: Clock
) -> None:
    await begin(store, session, claim(), said("a"))
    clock.now += 29
    message = await refused(store, session, SessionBusyError, claim=claim("you", "e-2"))
    assert "'e-1'" in message and "'s1'" in message
    clock.now += 2
    message = await refused(store, session, SessionBusyError, claim=claim("you", "e-2"))
    assert "'e-1' was left open" in message
    assert await begin(store, session, claim("you", "e-1"), said("b")) == Fence("you", 2)


async def test_the_owner_itself_may_claim_again(store: Store, session: Session) -> None:
    await begin(store, session, claim())
    assert await begin(store, session, claim()) == Fence("me", 2)
    lease = await store.lease(PLACE)
    assert lease is not None and lease.attempts == 1


async def test_what_the_owner_itself_left_open_comes_before_its_next_invocation(
    store: Store, session: Session
) -> None:
    """Its run could not store how it ended, and could not give the session back."""
    await begin(store, session, claim(), said("a"))
    message = await refused(store, session, SessionBusyError, claim=claim(invocation="e-2"))
    assert "'e-1' was left open" in message
    fence = await begin(store, session, claim(over=1), said("b"))
    lease = await store.lease(PLACE)
    assert lease is not None and lease.attempts == 2
    await store.release(PLACE, fence)
    assert await begin(store, session, claim(invocation="e-2")) == Fence("me", 3)


async def test_a_lease_handed_over_after_a_failure_counts_the_attempt(
    store: Store, session: Session
) -> None:
    for attempt in (1, 2):
        lease = await store.lease(PLACE)
        over = None if lease is None else lease.token
        fence = await begin(store, session, claim(over=over), said(str(attempt)))
        await store.hand_over(PLACE, fence, failed=True)
        lease = await store.lease(PLACE)
        assert lease is not None and lease.attempts == attempt


async def test_a_lease_of_a_dead_owner_is_taken_by_its_token(
    store: Store, session: Session
) -> None:
    await begin(store, session, claim())
    await refused(store, session, SessionBusyError, claim=claim("you", over=7))
    assert await begin(store, session, claim("you", over=1)) == Fence("you", 2)
    await refused(store, session, SessionBusyError, claim=claim("she", over=1))


async def test_a_lease_given_back_is_free(store: Store, session: Session) -> None:
    fence = await begin(store, session, claim())
    await store.release(PLACE, fence)
    lease = await store.lease(PLACE)
    assert lease is not None and (lease.owner, lease.token, lease.invocation_id) == ("", 1, "")
    assert await store.open_leases() == []
    assert await begin(store, session, claim("you", "e-2")) == Fence("you", 2)


@pytest.mark.spec(194)
async def test_a_claim_upon_an_older_revision_is_stale(store: Store, session: Session) -> None:
    await store.append_event(await reloaded(store, session), said("theirs"))
    told = await refused(store, session, StaleSessionError, claim=claim(revision=0))
    assert told == STALE
    fresh = await reloaded(store, session)
    assert revision_of(fresh) == 1
    await begin(store, fresh, claim(revision=revision_of(fresh)), said("mine"))
    assert revision_of(fresh) == 2


async def test_attempts_count_as_long_as_the_invocation_is_open(
    store: Store, session: Session
) -> None:
    for attempt, owner in enumerate(("a", "b", "c"), 1):
        fence = await begin(store, session, claim(owner, over=attempt - 1))
        lease = await store.lease(PLACE)
        assert lease is not None and lease.attempts == attempt
    await store.release(PLACE, fence, keep_rows=True)
    await begin(store, session, claim("a"))
    lease = await store.lease(PLACE)
    assert lease is not None and lease.attempts == 1
    await begin(store, session, claim("a", "e-2", over=lease.token))
    lease = await store.lease(PLACE)
    assert lease is not None and (lease.attempts, lease.invocation_id) == (1, "e-2")


@pytest.mark.spec(194)
async def test_an_append_with_another_token_has_lost_the_lease(
    store: Store, session: Session
) -> None:
    assert await refused(store, session, LeaseLostError, fence=Fence("me", 1)) == STALE
    old = await begin(store, session, claim(), said("first"))
    await store.append(session, [said("mine")], fence=old)
    new = await begin(store, await reloaded(store, session), claim("you", "e-2", over=1))
    assert await refused(store, session, LeaseLostError, fence=old) == STALE
    assert await refused(store, session, LeaseLostError, fence=Fence("you", 3)) == STALE
    await store.append(session, [said("yours")], fence=new)
    assert texts(await reloaded(store, session)) == ["first", "mine", "yours"]


async def test_an_append_after_the_release_still_counts_until_somebody_claims(
    store: Store, session: Session
) -> None:
    fence = await begin(store, session, claim())
    await store.release(PLACE, fence)
    await store.append(session, [said("late")], fence=fence)
    await begin(store, session, claim("you", "e-2"))
    await refused(store, session, LeaseLostError, fence=fence)


async def test_an_append_with_a_fence_lands_behind_appends_from_outside(
    store: Store, session: Session
) -> None:
    fence = await begin(store, session, claim(), said("mine", {"k": 1}))
    other = await reloaded(store, session)
    await store.append_event(other, said("outside", {"k": 2}))
    await store.append(session, [said("mine too", {"k": 3})], fence=fence)
    again = await reloaded(store, session)
    assert texts(again) == ["mine", "outside", "mine too"]
    assert again.state == {"k": 3}


async def test_a_lease_of_a_deleted_session_is_no_lease_of_the_next(
    store: Store, session: Session
) -> None:
    fence = await begin(store, session, claim())
    await store.delete_session(**OWNER, session_id="s1")
    with pytest.raises(SessionNotFoundError):
        await store.append(session, [said("late")], fence=fence)
    with pytest.raises(SessionNotFoundError):
        await store.append(session, [], claim=claim())
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 1, True, False)]
    again = await store.create_session(**OWNER, session_id="s1")
    assert await store.lease(PLACE) is None
    await begin(store, again, claim("you", "e-2"))
    with pytest.raises(LeaseLostError):
        await store.append(session, [said("late")], fence=fence)


async def test_renewing(store: Store, session: Session, clock: Clock) -> None:
    other = await store.create_session(**OWNER, session_id="s2")
    mine = await begin(store, session, claim())
    also = await begin(store, other, claim())
    place = Place("app", "ann", "s2")
    clock.now += 25
    passing = Passing()
    assert await store.renew([(PLACE, mine), (place, also)], 40.0) == [
        Renewal(PLACE, 1, lost=False, cancelled=False),
        Renewal(place, 1, lost=False, cancelled=False),
    ]
    lease = await store.lease(PLACE)
    assert lease is not None and passing.leaves(lease.left, of=40)
    clock.now += 60
    lease = await store.lease(PLACE)
    assert lease is not None and passing.leaves(lease.left, of=-20)
    await begin(store, session, claim("you", "e-2", over=1))
    await store.release(place, also)
    assert await store.renew([(PLACE, mine), (place, also)], 40.0) == [
        Renewal(PLACE, 1, lost=True, cancelled=False),
        Renewal(place, 1, lost=True, cancelled=False),
    ]


async def test_a_lease_that_ended_untaken_is_prolonged(
    store: Store, session: Session, clock: Clock
) -> None:
    fence = await begin(store, session, claim())
    clock.now += 100
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 1, False, False)]
    await refused(store, session, SessionBusyError, claim=claim("you", "e-2"))


async def test_cancelling(store: Store, session: Session) -> None:
    assert not await store.request_cancel(PLACE)
    assert not await store.request_cancel(Place("app", "ann", "nobody"))
    fence = await begin(store, session, claim())
    assert not await store.request_cancel(PLACE, "e-2")
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 1, False, False)]
    assert await store.request_cancel(PLACE, "e-1")
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 1, False, True)]
    await store.release(PLACE, fence)
    fence = await begin(store, session, claim(invocation="e-2"))
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 2, False, False)]
    assert await store.request_cancel(PLACE)
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, 2, False, True)]
    await store.release(PLACE, fence)
    assert not await store.request_cancel(PLACE)


async def test_a_claim_within_another_session_needs_the_fence_of_that_one(
    store: Store, session: Session, clock: Clock
) -> None:
    names: dict[str, Any] = {"app_name": PLACE.app_name, "user_id": PLACE.user_id}
    await store.create_session(**names, session_id="outer")
    outer = Place(PLACE.app_name, PLACE.user_id, "outer")

    async def take(owner: str) -> Fence:
        opened = await store.open_session(**outer._asdict())
        assert opened is not None
        clock.now += 100
        given = await store.append(opened, (), (), None, claim(owner, "e-0"))
        assert given is not None
        return given

    mine = await take("me")
    fence = await begin(store, session, claim("me", within=(outer, mine)))
    await store.append(session, [said("within")], (), fence)
    await store.release(PLACE, fence)
    session = await reloaded(store, session)
    theirs = await take("you")
    late = claim("me", "e-2", within=(outer, mine))
    await refused(store, session, LeaseLostError, claim=late)
    fence = await begin(store, session, claim("you", "e-2", within=(outer, theirs)))
    await store.release(PLACE, fence)
    await store.delete_session(**outer._asdict())
    gone = claim("you", "e-3", within=(outer, theirs))
    await refused(store, await reloaded(store, session), SessionNotFoundError, claim=gone)


async def test_a_cancelled_invocation_stays_so_for_whoever_takes_it_over(
    store: Store, session: Session, clock: Clock
) -> None:
    fence = await begin(store, session, claim())
    assert await store.request_cancel(PLACE, "e-1")
    await store.hand_over(PLACE, fence)
    lease = await store.lease(PLACE)
    assert lease is not None
    fence = await begin(store, session, claim("you", over=lease.token))
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, fence.token, False, True)]
    await store.hand_over(PLACE, fence)
    assert await store.request_cancel(PLACE), "nobody runs it, but somebody will"
    clock.now += 100
    fence = await begin(store, session, claim("she"))
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, fence.token, False, True)]
    await store.release(PLACE, fence)
    fence = await begin(store, session, claim("she"))
    assert await store.renew([(PLACE, fence)], 30.0) == [Renewal(PLACE, fence.token, False, False)]


async def test_parking(store: Store, session: Session) -> None:
    fence = await begin(store, session, claim())
    await store.park(PLACE, Fence("me", 2), "nobody may")
    await store.park(PLACE, fence, "it failed three times")
    lease = await store.lease(PLACE)
    assert lease is not None
    assert (lease.owner, lease.stuck, lease.invocation_id) == ("", "it failed three times", "e-1")
    assert await store.open_leases() == []
    assert [each.place for each in await store.open_leases(stuck=True)] == [PLACE]
    await store.release(PLACE, fence)  # it was given back already
    assert len(await store.open_leases(stuck=True)) == 1
    await begin(store, session, claim("you"))
    lease = await store.lease(PLACE)
    assert lease is not None and (lease.stuck, lease.attempts) == ("", 2)
    assert await store.open_leases(stuck=True) == []


async def test_who_passes_by_a_parked_invocation_clears_its_journal(
    store: Store, session: Session
) -> None:
    rows = [JournalRow(name, "c1", "started", "pay") for name in ("e-1", "e-2")]
    fence = await store.append(session, [said("one")], rows, claim=claim())
    assert fence is not None
    await store.park(PLACE, fence, "it failed three times")
    fence = await store.append(session, [], claim=claim("you"))  # who goes on with it needs them
    assert await store.journal(PLACE, "e-1") == rows[:1] and fence is not None
    await store.park(PLACE, fence, "it failed again")
    await store.append(session, [], claim=claim("you", "e-3"))
    assert await store.journal(PLACE, "e-1") == []
    assert await store.journal(PLACE, "e-2") == rows[1:]


async def test_a_release_that_nobody_waits_for_comes_before_the_next_claim(
    store: Store, session: Session
) -> None:
    """Or the rows of the invocation before would stay."""
    rows = [JournalRow("e-1", "c1", "finished", "pay", "{}")]
    fence = await store.append(session, [said("one")], rows, claim=claim())
    assert fence is not None
    await store.release(PLACE, fence, wait=False)
    await store.append(session, [said("two")], claim=claim("me", "e-2"))
    assert await store.journal(PLACE, "e-1") == []


async def test_open_leases_come_oldest_first(store: Store, clock: Clock) -> None:
    fences: dict[str, Fence] = {}
    for app, name in (("app", "b"), ("other", "c"), ("app", "a"), ("app", "d")):
        made = await store.create_session(app_name=app, user_id="ann", session_id=name)
        clock.now += 1
        fences[name] = await begin(store, made, claim())
    clock.now += 100
    first = await store.get_session(app_name="app", user_id="ann", session_id="b")
    assert first is not None
    await begin(store, first, claim("you"))  # begun again: its place in the row stays
    await store.release(Place("app", "ann", "d"), fences["d"])
    found = await store.open_leases()
    assert [each.place.session_id for each in found] == ["b", "c", "a"]
    assert [each.left > 0 for each in found] == [True, False, False]
    assert [each.place.session_id for each in await store.open_leases("app")] == ["b", "a"]
    assert [each.place.session_id for each in await store.open_leases(limit=2)] == ["b", "c"]
    assert await store.open_leases("nothing") == []


async def test_names_and_texts_that_no_store_can_hold(store: Store, session: Session) -> None:
    if not store.shared:
        return  # memory holds anything
    bad = Place("app", "ann", "\ud800")
    with pytest.raises(InputValidationError):
        await store.lease(bad)
    with pytest.raises(InputValidationError):
        await store.request_cancel(bad)
    with pytest.raises(InputValidationError):
        await begin(store, session, claim("\ud800"))
    assert await store.lease(PLACE) is None


async def test_a_lease_handed_over_stays_open_and_its_owner_writes_nothing_more(
    store: Store, session: Session, clock: Clock
) -> None:
    for attempt, owner in enumerate(("me", "you"), 1):
        lease = await store.lease(PLACE)
        over = lease.token if lease is not None else None
        fence = await begin(store, session, claim(owner, over=over, jump=True), said(owner))
        lease = await store.lease(PLACE)
        assert lease is not None and lease.attempts == 1, attempt
        await store.hand_over(PLACE, fence)
        await store.hand_over(PLACE, fence)
        lease = await store.lease(PLACE)
        assert lease is not None and lease.left <= 0
        assert (lease.invocation_id, lease.attempts, lease.process) == ("e-1", 0, "")
        assert lease.owner not in ("", owner)
        assert [open_.invocation_id for open_ in await store.open_leases()] == ["e-1"]
        await refused(store, session, LeaseLostError, fence=fence)
        assert [r.lost for r in await store.renew([(PLACE, fence)], 30.0)] == [True]
        await store.release(PLACE, fence)
        assert len(await store.open_leases()) == 1
        await refused(store, session, SessionBusyError, claim=claim("she", "e-2"))


async def test_the_same_owner_that_claims_again_begins_nothing_anew(
    store: Store, session: Session
) -> None:
    for token in (1, 2, 3):
        assert await begin(store, session, claim()) == Fence("me", token)
    lease = await store.lease(PLACE)
    assert lease is not None and lease.attempts == 1


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 20_000, "../../etc", "/etc/passwd", "C:\\x"])
async def test_places_that_cannot_be(store: Store, session: Session, name: str) -> None:
    for place in (Place(name, "ann", "s1"), Place("app", name, "s1"), Place("app", "ann", name)):
        assert await store.lease(place) is None
        assert await store.messages(place) == []
        assert await store.journal(place, "e-1") == []
        assert not await store.request_cancel(place)
        await store.release(place, Fence("me", 1))
        await store.park(place, Fence("me", 1), "why")
        await store.hand_over(place, Fence("me", 1))
    assert await store.take_messages(name, "me", "p", 30.0, 9) == []
    assert await store.open_leases(name) == []
    assert await store.waiting_places(name) == []
    assert await store.delete_sessions_before(name, 1e12) == 0
    await store.delete_user("app", name)
    assert (await reloaded(store, session)).id == "s1"


async def test_of_many_who_claim_at_once_one_gets_it(store: Store, session: Session) -> None:
    found = await asyncio.gather(
        *(
            store.append(session, [said(f"by {n}")], claim=claim(f"owner{n}", f"e-{n}"))
            for n in range(20)
        ),
        return_exceptions=True,
    )
    given = [one for one in found if isinstance(one, Fence)]
    assert len(given) == 1
    assert sum(isinstance(one, SessionBusyError) for one in found) == 19
    name = given[0].owner.removeprefix("owner")
    assert texts(await reloaded(store, session)) == texts(session) == [f"by {name}"]
