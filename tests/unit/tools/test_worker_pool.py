"""The worker pool: its bound, its order, and threads that never come back."""

import asyncio
import gc
import threading

import pytest

from ostinato.tools.function.worker_pool import PATIENCE_SECONDS, CallTimeout, WorkerPool, pool_of
from tests.support.loop_time import time_passes


async def test_no_more_calls_run_at_a_time_than_the_pool_has_threads() -> None:
    pool, lock = WorkerPool(3), threading.Lock()
    running, most = 0, 0
    full = threading.Barrier(3)

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(60)
        with lock:
            running -= 1
        return number

    calls = (pool.run(lambda n=n: work(n)) for n in range(12))
    assert await asyncio.gather(*calls) == list(range(12))
    assert most == 3


async def test_threads_are_used_again() -> None:
    pool = WorkerPool(5)
    idents: set[int] = set()
    for _ in range(10):
        idents.add(await pool.run(threading.get_ident))
        # A worker hands over its result before it counts itself free, and tells nobody of that.
        while pool._outstanding:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert len(idents) == 1


async def test_abandoned_threads_give_their_place_back() -> None:
    pool, release = WorkerPool(1), threading.Event()
    try:
        for _ in range(3):
            with pytest.raises(CallTimeout):
                await pool.run(lambda: release.wait(60), seconds=0.01)
        assert await pool.run(lambda: "free") == "free"
    finally:
        release.set()


async def test_a_call_whose_turn_never_came_is_not_made() -> None:
    pool, release, made = WorkerPool(1), threading.Event(), list[str]()
    started = threading.Event()

    def block() -> None:
        started.set()
        release.wait(60)

    blocked = asyncio.create_task(pool.run(block))
    await asyncio.to_thread(started.wait, 60)
    with pytest.raises(CallTimeout):
        await pool.run(lambda: made.append("late"), seconds=0.01)
    waiting = asyncio.create_task(pool.run(lambda: made.append("cancelled"), grace=30))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    await blocked
    assert await pool.run(lambda: list(made)) == []


async def test_a_cancelled_caller_leaves_after_the_grace_period() -> None:
    pool, release, started = WorkerPool(1), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    lost: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, report: lost.append(report))

    def block() -> None:
        threads.append(threading.current_thread())
        started.set()
        release.wait(60)
        raise ValueError("nobody hears this")

    task = asyncio.create_task(pool.run(block, grace=0.01))
    await asyncio.to_thread(started.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not release.is_set()
    assert await pool.run(lambda: "free") == "free"
    release.set()
    await asyncio.to_thread(threads[0].join, 60)
    assert not threads[0].is_alive()
    await asyncio.sleep(0)
    gc.collect()
    assert lost == []


def test_a_call_that_outlives_its_loop_harms_nobody() -> None:
    pool, release = WorkerPool(1), threading.Event()
    started, ended = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        release.wait(60)
        ended.set()

    async def give_up() -> None:
        call = asyncio.create_task(pool.run(block, seconds=30))
        await asyncio.to_thread(started.wait, 60)
        await time_passes(call.done)
        with pytest.raises(CallTimeout):
            await call

    asyncio.run(give_up())
    release.set()
    assert ended.wait(60)
    assert asyncio.run(pool.run(lambda: "free")) == "free"


def test_there_is_one_pool_of_each_size() -> None:
    assert pool_of(2) is pool_of(2)
    assert pool_of(2) is not pool_of(3)
    assert pool_of() is pool_of(40)


async def test_a_call_that_waits_long_for_a_thread_is_warned_of_with_the_names_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool, release = WorkerPool(2), threading.Event()
    names = ("read", "read", "late", "late")
    calls = [asyncio.create_task(pool.run(lambda: release.wait(60), name=n)) for n in names]
    try:
        await time_passes(lambda: len(caplog.messages) == 2)
    finally:
        release.set()
    assert await asyncio.gather(*calls) == [True] * 4
    for message in caplog.messages:
        assert "'late' has waited" in message
        assert "all 2 are busy with calls of read (2)" in message
        assert "timeout=seconds" in message


async def test_a_thread_that_starts_late_is_waited_for_before_its_pool_counts_as_blocked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, release = WorkerPool(2), threading.Event()
    late_threads: list[threading.Thread] = []
    start = threading.Thread.start

    def start_first_only(thread: threading.Thread) -> None:
        if thread.name == "ostinato-tool" and pool._threads == 2:
            late_threads.append(thread)
        else:
            start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_first_only)
    names = ("read", "read", "late")
    calls = [asyncio.create_task(pool.run(lambda: release.wait(60), name=n)) for n in names]
    loop = asyncio.get_running_loop()
    try:
        begun = loop.time()
        await time_passes(lambda: loop.time() > begun + 10 * PATIENCE_SECONDS)
        assert caplog.messages == []
        start(late_threads[0])
        await time_passes(lambda: bool(caplog.messages))
    finally:
        release.set()
    assert await asyncio.gather(*calls) == [True] * 3
    assert "all 2 are busy with calls of read (2)" in caplog.messages[0]


async def test_a_call_that_gets_a_thread_in_time_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = WorkerPool(1)
    assert await asyncio.gather(*(pool.run(lambda: 1, name="quick") for _ in range(5))) == [1] * 5
    turns = 0

    def many_turns() -> bool:
        nonlocal turns
        turns += 1
        return turns > 1000

    await time_passes(many_turns)
    assert caplog.messages == []
