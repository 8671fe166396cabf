"""LeaseKeeper: leases are renewed from a thread, and their holders hear what became of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from ostinato.durable import lease as lease_module
from ostinato.durable.lease import LeaseKeeper, keeper_of
from ostinato.errors import CallerError, LeaseLostError, RunCancelledError, StoreError
from ostinato.sessions.store.durable_store import Fence, Place, Renewal
from tests.support.loop_time import time_passes

PLACE = Place("app", "ann", "one")


class FakeStore:
    """Answers renewals from a list; notes what it was asked and in which thread."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, float]] = []
        self.messages: list[tuple[str, float]] = []
        self.threads: set[int] = set()
        self.reached = threading.Event()

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        self.asked.append((list(held), seconds))
        self.threads.add(threading.get_ident())
        answer = self.answers.pop(0) if self.answers else []
        if not self.answers:
            self.reached.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def renew_messages(self, owner: str, seconds: float) -> None:
        self.messages.append((owner, seconds))


class Run:
    is_orphaned = False

    def __init__(self) -> None:
        self.reasons: list[CallerError] = []
        self.stopped = threading.Event()

    def stop(self, reason: CallerError) -> None:
        self.reasons.append(reason)
        self.stopped.set()


def keeper_over(store: FakeStore, seconds: float = 30.0) -> LeaseKeeper:
    return LeaseKeeper(store, seconds)  # type: ignore[arg-type]


async def test_what_is_held_is_renewed_until_it_is_dropped() -> None:
    store, fence = FakeStore(), Fence("me", 3)
    keeper = keeper_over(store)
    await keeper.renew()
    assert store.asked == []
    keeper.hold(PLACE, fence, Run())
    await keeper.renew()
    assert store.asked == [([(PLACE, fence)], 30.0)]
    keeper.drop(PLACE, fence)
    await keeper.renew()
    assert len(store.asked) == 1


async def test_messages_are_renewed_while_somebody_waits() -> None:
    store = FakeStore()
    keeper = keeper_over(store)
    keeper.wait(1)
    await keeper.renew()
    keeper.wait(-1)
    await keeper.renew()
    assert store.messages == [(keeper.owner, 30.0)]


async def test_a_holder_hears_that_its_lease_was_lost_or_its_run_is_to_be_cancelled() -> None:
    lost, cancelled, fine = Run(), Run(), Run()
    store = FakeStore(
        [
            Renewal(PLACE, 1, lost=True, cancelled=False),
            Renewal(PLACE, 2, lost=False, cancelled=True),
            Renewal(PLACE, 3, lost=False, cancelled=False),
            Renewal(PLACE, 9, lost=True, cancelled=False),
        ]
    )
    keeper = keeper_over(store)
    for token, run in ((1, lost), (2, cancelled), (3, fine)):
        keeper.hold(PLACE, Fence("me", token), run)
    await keeper.renew()
    assert [type(reason) for reason in lost.reasons] == [LeaseLostError]
    assert [type(reason) for reason in cancelled.reasons] == [RunCancelledError]
    assert fine.reasons == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time by which the keeper counts, as the only item; it has no thread."""
    now = [1_000.0]
    monkeypatch.setattr(LeaseKeeper, "_start_thread", lambda self: None)
    monkeypatch.setattr("ostinato.durable.lease._now", lambda: now[0])
    return now


async def test_a_lease_that_is_not_renewed_before_its_end_counts_as_lost(
    clock: list[float],
) -> None:
    store, run, fence = FakeStore(*[StoreError("away")] * 4), Run(), Fence("me", 1)
    keeper = keeper_over(store, 10.0)
    keeper.hold(PLACE, fence, run)
    for _ in range(3):
        clock[0] += 2.9
        await keeper.serve()
        assert run.reasons == []
    clock[0] += 0.5  # 0.8 s before another owner may have it
    await keeper.serve()
    assert [type(reason) for reason in run.reasons] == [LeaseLostError]
    assert "was not renewed" in str(run.reasons[0])
    assert not keeper.holds(PLACE, 1)


async def test_a_renewal_counts_from_before_it_was_sent(clock: list[float]) -> None:
    fine = [Renewal(PLACE, 1, lost=False, cancelled=False)]
    store, run = FakeStore(fine, StoreError("away"), fine, StoreError("away")), Run()
    keeper = keeper_over(store, 10.0)
    keeper.hold(PLACE, Fence("me", 1), run)
    for _ in range(4):
        clock[0] += 8.0
        await keeper.serve()
        if len(store.asked) == 2:
            clock[0] -= 8.0
    assert run.reasons == []
    clock[0] += 8.0
    store.answers = [StoreError("away")]
    await keeper.serve()
    assert len(run.reasons) == 1


@pytest.mark.usefixtures("clock")
async def test_a_renewal_that_hangs_past_the_end_of_the_lease_stops_its_holder() -> None:
    answered = asyncio.Event()

    class Hanging(FakeStore):
        async def renew(self, *_: Any) -> Sequence[Renewal]:
            await answered.wait()
            return []

    store, run = Hanging(), Run()
    keeper = keeper_over(store, 10.0)
    loop = asyncio.get_running_loop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lease_module, "_now", lambda: loop.time())
        keeper.hold(PLACE, Fence("me", 1), run)
        round_ = asyncio.create_task(keeper.serve())
        await time_passes(lambda: bool(run.reasons) or round_.done())
    assert not round_.done()
    answered.set()
    await round_


def test_the_thread_goes_on_after_an_error_of_the_store() -> None:
    store = FakeStore(
        StoreError("locked"), RuntimeError("odd"), [Renewal(PLACE, 1, lost=True, cancelled=False)]
    )
    keeper, run = keeper_over(store, seconds=0.003), Run()
    keeper.hold(PLACE, Fence("me", 1), run)
    assert run.stopped.wait(60)
    assert threading.get_ident() not in store.threads
    keeper.drop(PLACE, Fence("me", 1))


def test_a_thread_with_nothing_to_do_ends_when_it_is_told_to_and_starts_again() -> None:
    store, fence = FakeStore([]), Fence("me", 1)
    keeper = keeper_over(store, seconds=0.003)
    assert keeper.stop() is None
    keeper.hold(PLACE, fence, Run())
    assert keeper.stop() is None, "a lease is kept alive"
    keeper.drop(PLACE, fence)
    thread = keeper.stop()
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()
    asked = len(store.asked)
    store.reached.clear()
    store.answers = [[]]
    keeper.hold(PLACE, fence, Run())
    assert store.reached.wait(60) and len(store.asked) > asked
    keeper.drop(PLACE, fence)


def test_one_store_has_one_keeper_for_leases_of_one_length() -> None:
    store, other = FakeStore(), FakeStore()
    keeper = keeper_of(store)  # type: ignore[arg-type]
    assert keeper_of(store) is keeper  # type: ignore[arg-type]
    assert keeper_of(store, 1.0) is not keeper  # type: ignore[arg-type]
    assert keeper_of(other).owner != keeper.owner  # type: ignore[arg-type]
