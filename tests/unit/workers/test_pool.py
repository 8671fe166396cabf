"""Worker processes on one store: every message answered once and in order, whatever dies."""

from __future__ import annotations

import signal

import pytest

from tests.unit.workers.crew import Crew, Worker
from tests.unit.workers.gate import Arrival, Gate

pytestmark = pytest.mark.long


def holding(*texts: str, times: int = 1):
    """A rule for a gate: hold these texts when they come for the first time."""
    left = dict.fromkeys(texts, times)

    def holds(arrival: Arrival) -> bool:
        if left.get(arrival.text, 0) == 0:
            return False
        left[arrival.text] -= 1
        return True

    return holds


async def two(crew: Crew, gate: Gate, text: str, *options: str) -> tuple[Worker, Worker]:
    """Start two workers; return first the one that has begun with a text and waits at the gate."""
    workers = [await crew.hire(*options) for _ in range(2)]
    await crew.submit("s", text)
    pid = (await gate.wait(text)).pid
    workers.sort(key=lambda worker: worker.pid != pid)
    assert workers[0].pid == pid
    return workers[0], workers[1]


@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.service)])
async def test_workers_answer_every_message_once_and_in_order(
    crew: Crew, gate: Gate, number: int
) -> None:
    gate.holds = lambda arrival: arrival.text.endswith(":0")  # until all workers are needed
    workers = [await crew.hire("--concurrency", str(20 // number)) for _ in range(number)]
    ids = {
        await crew.submit(f"s{session}", f"{session}:{turn}")
        for turn in range(2)
        for session in range(20)
    }
    for session in range(20):
        await gate.wait(f"{session}:0")
    assert len({arrival.pid for arrival in gate.arrivals}) == number
    for arrival in gate.arrivals:
        arrival.let.set()
    await crew.idle()
    for worker in workers:
        worker.send(signal.SIGTERM)
    assert [await worker.ended() for worker in workers] == [0] * number
    for session in range(20):
        asked = [f"{session}:{turn}" for turn in range(2)]
        answered = [text for ask in asked for text in (ask, f"Answer to {ask}")]
        assert await crew.said(f"s{session}") == answered
        assert {event.invocation_id for event in await crew.log(f"s{session}")} <= ids
        assert [gate.count("model", ask) for ask in asked] == [1, 1]
    assert await crew.service.waiting_places() == []
    assert await crew.service.open_leases() == []
    finished = [line for worker in workers for line in worker.lines if " finished " in line]
    assert len(finished) == len(ids)


@pytest.mark.service
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same host", "other host"])
async def test_what_a_killed_worker_ran_goes_on_elsewhere(
    crew: Crew, gate: Gate, elsewhere: bool
) -> None:
    gate.holds = holding("pay")
    dying, living = await two(crew, gate, "pay")
    await dying.kill()
    if elsewhere:
        await crew.move_leases()
        await crew.expire()
    await gate.wait("pay", pids=[living.pid])
    await living.line("finished")
    assert await crew.said("s") == ["pay", "Paid."]
    assert gate.count("pay", "pay") == 1


@pytest.mark.service
async def test_a_message_that_a_killed_worker_had_only_taken_is_run_by_another(
    crew: Crew, gate: Gate
) -> None:
    await crew.submit("s", "hello")
    await crew.service.take_messages("desk", "of a dead one", "elsewhere|b|n|1|1", 600.0, 1)
    worker = await crew.hire()
    await crew.submit("t", "after it")
    await worker.line("finished", "session t")
    assert gate.count("model", "hello") == 0
    await crew.expire()
    await worker.line("finished", "session s")
    assert await crew.said("s") == ["hello", "Answer to hello"]
    assert gate.count("model", "hello") == 1


async def test_a_worker_told_to_stop_lets_its_work_come_to_an_end(crew: Crew, gate: Gate) -> None:
    gate.holds = holding("slow")
    worker = await crew.hire()
    await crew.submit("s", "slow")
    held = await gate.wait("slow")
    await crew.submit("t", "not any more")
    worker.send(signal.SIGTERM)
    held.let.set()
    assert await worker.ended() == 0
    assert await crew.said("s") == ["slow", "Answer to slow"]
    assert gate.count("model", "slow") == 1


@pytest.mark.service
async def test_a_worker_that_stops_hands_over_what_takes_too_long(crew: Crew, gate: Gate) -> None:
    gate.holds = holding("pay", times=3)
    for _ in range(3):  # handing over is no failed attempt, however often it happens
        worker = await crew.hire("--grace", "0.1")
        if not gate.arrivals:
            await crew.submit("s", "pay")
        await gate.wait("pay", pids=[worker.pid])
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        assert await worker.line("handed over")
        lease = await crew.lease("s")
        assert lease.left <= 0 and lease.attempts == 0 and lease.invocation_id
        assert len(await crew.log("s")) == 1
    last = await crew.hire()
    await last.line("finished")
    assert await crew.said("s") == ["pay", "Paid."]
    assert gate.count("pay", "pay") == 1


@pytest.mark.service
async def test_a_worker_that_sleeps_past_its_lease_adds_nothing_afterwards(
    crew: Crew, gate: Gate
) -> None:
    gate.holds = holding("pay")
    # With no room for more it looks for nothing else; the store's lock is not to sleep with it.
    sleeping, living = await two(crew, gate, "pay", "--concurrency", "1")
    held = gate.arrivals[0]
    await crew.put_to_sleep(sleeping, "s")
    await crew.expire()
    await gate.wait("pay", pids=[living.pid])
    await living.line("finished")
    after = [event.id for event in await crew.log("s")]
    held.let.set()
    sleeping.send(signal.SIGCONT)
    await sleeping.line("taken")
    assert [event.id for event in await crew.log("s")] == after
    assert gate.count("pay", "pay") == 1
    assert await crew.said("s") == ["pay", "Paid."]
    await crew.submit("s", "hello")
    await crew.idle()
    assert (await crew.said("s"))[2:] == ["hello", "Answer to hello"]


@pytest.mark.service
async def test_what_kills_its_workers_is_parked_and_the_session_goes_on(
    crew: Crew, gate: Gate
) -> None:
    await crew.submit("s", "poison")
    for _ in range(3):
        worker = await crew.hire()
        assert await worker.ended() == -signal.SIGKILL
    last = await crew.hire()
    assert "3 times" in await last.line(" stuck ")
    (stuck,) = await crew.service.open_leases(stuck=True)
    assert stuck.place.session_id == "s"
    assert gate.count("model", "poison") == 3
    await crew.submit("s", "hello")
    await last.line("finished")
    assert await crew.said("s") == ["poison", "hello", "Answer to hello"]


async def test_a_failing_message_is_on_record_and_does_not_end_the_worker(
    crew: Crew, gate: Gate
) -> None:
    worker = await crew.hire()
    await crew.submit("s", "fail")
    assert "no luck" in await worker.line(" failed ")
    await crew.submit("s", "hello")
    await worker.line("finished")
    assert await crew.said("s") == ["fail", "hello", "Answer to hello"]
    assert [e.error_code for e in await crew.log("s") if e.error_code] == ["ValueError"]


@pytest.mark.service
async def test_the_same_request_twice_is_one_invocation(crew: Crew, gate: Gate) -> None:
    first = await crew.submit("s", "hello", idempotency_key="k")
    assert await crew.submit("s", "hello", idempotency_key="k") == first
    worker = await crew.hire("--once")
    assert await worker.ended() == 0
    assert await crew.submit("s", "hello", idempotency_key="k") == first
    again = await crew.hire("--once")
    assert await again.ended() == 0
    assert await crew.said("s") == ["hello", "Answer to hello"]
    assert gate.count("model", "hello") == 1
    assert await crew.service.waiting_places() == []
