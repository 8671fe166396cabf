"""SessionLocks: one run at a time per session, in order, across tasks, loops and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ostinato.durable.run_scope import RunScope, SessionKey
from ostinato.durable.session_locks import SESSION_LOCKS, SessionLocks

KEY: SessionKey = (1, "app", "ann", "one")
OTHER: SessionKey = (1, "app", "ann", "two")


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


class Turn:
    """A task that takes a session, notes it, and gives it back when told."""

    def __init__(self, locks: SessionLocks, notes: list[str], name: str, key: Any = KEY) -> None:
        self.entered, self.leave = asyncio.Event(), asyncio.Event()
        self.notes, self.name = notes, name
        self.task = asyncio.ensure_future(self._run(locks, key))

    async def _run(self, locks: SessionLocks, key: SessionKey) -> None:
        async with locks.hold_session(key):
            self.notes.append(self.name)
            self.entered.set()
            await self.leave.wait()

    async def end(self) -> None:
        self.leave.set()
        await self.task


@pytest.fixture
async def locks() -> AsyncIterator[SessionLocks]:
    made = SessionLocks()
    yield made
    assert made._holds == {}, "a session was left held"


async def test_a_session_is_held_by_one_task_and_then_by_the_next(locks: SessionLocks) -> None:
    notes: list[str] = []
    one, two = Turn(locks, notes, "one"), Turn(locks, notes, "two")
    await settle()
    assert notes == ["one"]
    await one.end()
    await settle()
    assert notes == ["one", "two"]
    await two.end()


async def test_those_who_wait_are_served_in_the_order_they_came(locks: SessionLocks) -> None:
    notes: list[str] = []
    turns = [Turn(locks, notes, str(n)) for n in range(5)]
    for turn in turns:
        await settle()
        await turn.end()
    assert notes == ["0", "1", "2", "3", "4"]


async def test_one_who_comes_at_the_handover_waits_behind_those_who_waited(
    locks: SessionLocks,
) -> None:
    notes: list[str] = []
    one, two = Turn(locks, notes, "one"), Turn(locks, notes, "two")
    await settle()
    one.leave.set()
    await one.task  # the session is on its way to `two`, which has not run yet
    late = Turn(locks, notes, "late")
    await settle()
    assert notes == ["one", "two"]
    await two.end()
    await late.end()
    assert notes == ["one", "two", "late"]


async def test_different_sessions_do_not_wait_for_each_other(locks: SessionLocks) -> None:
    notes: list[str] = []
    one, two = Turn(locks, notes, "one"), Turn(locks, notes, "two", key=OTHER)
    await settle()
    assert notes == ["one", "two"]
    await one.end()
    await two.end()


async def test_a_session_is_given_back_where_the_block_raises(locks: SessionLocks) -> None:
    with pytest.raises(ValueError, match="within"):
        async with locks.hold_session(KEY):
            raise ValueError("within")
    async with locks.hold_session(KEY):
        pass


async def test_the_task_that_holds_a_session_waits_outside_its_run(locks: SessionLocks) -> None:
    async def refuse() -> None:
        assert locks.is_held_by_current_task(KEY)
        raise ValueError("would wait for itself")

    async with locks.hold_session(KEY):
        with pytest.raises(ValueError, match="itself"):
            await locks.acquire(KEY, refuse)
        with RunScope(KEY):
            assert await locks.acquire(KEY) == 0
        waiting = Turn(locks, [], "waiting")
        await settle()
        assert not waiting.entered.is_set()
    await waiting.end()


async def test_a_task_of_the_run_that_holds_the_session_does_not_wait(locks: SessionLocks) -> None:
    async def nested() -> str:
        async with locks.hold_session(KEY):
            return "in"

    async with locks.hold_session(KEY):
        with RunScope(KEY):
            task = asyncio.create_task(nested())
        assert await asyncio.wait_for(task, 60) == "in"


async def test_code_within_a_run_of_another_session_waits(locks: SessionLocks) -> None:
    notes: list[str] = []
    first = Turn(locks, notes, "first")
    await settle()
    with RunScope(OTHER):
        second = Turn(locks, notes, "second")
    await settle()
    assert notes == ["first"]
    await first.end()
    await second.end()


async def test_a_task_cancelled_while_it_waits_is_passed_over(locks: SessionLocks) -> None:
    notes: list[str] = []
    one, two, three = (Turn(locks, notes, name) for name in ("one", "two", "three"))
    await settle()
    two.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await two.task
    await one.end()
    await settle()
    assert notes == ["one", "three"]
    await three.end()


async def test_a_task_cancelled_just_as_it_is_given_the_session_hands_it_on(
    locks: SessionLocks,
) -> None:
    notes: list[str] = []
    one, two, three = (Turn(locks, notes, name) for name in ("one", "two", "three"))
    await settle()
    one.leave.set()
    await one.task  # `two` has been given the session and has not run yet
    two.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await two.task
    await settle()
    assert notes == ["one", "three"]
    await three.end()


async def test_a_task_cancelled_after_it_was_woken_hands_the_session_on(
    locks: SessionLocks,
) -> None:
    notes: list[str] = []
    one, two, three = (Turn(locks, notes, name) for name in ("one", "two", "three"))
    await settle()
    one.leave.set()
    await one.task
    await asyncio.sleep(0)  # `two`'s future is done; its task may be on its way
    two.task.cancel()
    await asyncio.gather(two.task, return_exceptions=True)
    await settle()
    assert notes[-1] == "three"
    await three.end()


async def test_all_who_wait_may_be_cancelled_and_the_session_is_free_again(
    locks: SessionLocks,
) -> None:
    notes: list[str] = []
    one, two, three = (Turn(locks, notes, name) for name in ("one", "two", "three"))
    await settle()
    for turn in (three, two):
        turn.task.cancel()
        await asyncio.gather(turn.task, return_exceptions=True)
    await one.end()
    async with locks.hold_session(KEY):
        assert notes == ["one"]


class Thread:
    """A loop in a thread of its own that takes the session, and gives it back when told."""

    def __init__(self, locks: SessionLocks, notes: list[str], name: str) -> None:
        self.waits, self.entered, self.leave = (threading.Event() for _ in range(3))
        self._locks, self._notes, self._name = locks, notes, name
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    async def _run(self) -> None:
        asyncio.get_running_loop().call_soon(self.waits.set)  # runs once `held` has to wait
        async with self._locks.hold_session(KEY):
            self._notes.append(self._name)
            self.entered.set()
            await asyncio.to_thread(self.leave.wait, 60)

    def join(self) -> None:
        self.leave.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


async def test_a_session_passes_between_loops_of_different_threads(locks: SessionLocks) -> None:
    notes: list[str] = []
    async with locks.hold_session(KEY):
        thread = Thread(locks, notes, "thread")
        assert await asyncio.to_thread(thread.waits.wait, 60)
        assert locks._holds[KEY].waiters and notes == []
        mine = Turn(locks, notes, "mine")
        await settle()
    assert await asyncio.to_thread(thread.entered.wait, 60)
    await settle()
    assert notes == ["thread"]
    await asyncio.to_thread(thread.join)
    await asyncio.wait_for(mine.entered.wait(), 60)
    assert notes == ["thread", "mine"]
    await mine.end()


def test_a_loop_that_was_closed_while_its_task_waited_is_passed_over() -> None:
    locks, notes = SessionLocks(), list[str]()

    async def wait() -> None:
        async with locks.hold_session(KEY):
            notes.append("never")

    async def main() -> None:
        async with locks.hold_session(KEY):
            gone = asyncio.new_event_loop()
            task = gone.create_task(wait())

            def begin() -> None:
                gone.call_soon(gone.stop)
                gone.run_forever()

            await asyncio.to_thread(begin)
            assert locks._holds[KEY].waiters
            gone.close()
            live = Turn(locks, notes, "live")
            await settle()
        await live.end()
        assert notes == ["live"]
        task._log_destroy_pending = False  # type: ignore[attr-defined] # it is left, as in a crash

    asyncio.run(main())
    assert locks._holds == {}


def test_a_loop_that_was_closed_just_as_its_task_was_given_the_session_is_passed_over() -> None:
    locks = SessionLocks()
    gone = asyncio.new_event_loop()

    async def hold() -> int:
        return await locks.acquire(KEY)

    with asyncio.Runner() as first:
        number = first.run(hold())
        waiting = gone.create_task(hold())
        gone.run_until_complete(asyncio.sleep(0))
        locks.release(KEY, number)
        gone.close()
        again = first.run(hold())
        assert again > number
        locks.release(KEY, again)
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def test_many_threads_never_hold_one_session_together() -> None:
    locks, inside_now, most, done = SessionLocks(), [0], [0], [0]

    async def turns() -> None:
        for _ in range(20):
            async with locks.hold_session(KEY):
                inside_now[0] += 1
                most[0] = max(most[0], inside_now[0])
                await asyncio.sleep(0)
                inside_now[0] -= 1
                done[0] += 1

    threads = [threading.Thread(target=lambda: asyncio.run(turns())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most[0], done[0], locks._holds) == (1, 80, {})


def test_all_runners_of_a_process_share_their_locks() -> None:
    assert isinstance(SESSION_LOCKS, SessionLocks) and SESSION_LOCKS._holds == {}
