"""The engine over DBOS, in real processes on one PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ostinato.sessions.store.durable_store import Place
from tests.support.databases import execute, new_database
from tests.unit.workers.crew import Crew
from tests.unit.workers.gate import Gate
from tests.unit.workers.test_pool import holding, two

pytestmark = pytest.mark.service


@pytest.fixture
async def crew(tmp_path: Path, gate: Gate) -> AsyncIterator[Crew]:
    """A crew without workers yet, whose workers use DBOS."""
    with new_database("postgres") as url:
        async with Crew(url, tmp_path, gate, "--engine", "dbos") as made:
            yield made


def statuses(crew: Crew) -> dict[str, str]:
    """What DBOS knows of its workflows."""
    return dict(execute(crew.db, "SELECT workflow_uuid, status FROM dbos.workflow_status"))


async def test_workers_answer_every_message_once_and_in_order(crew: Crew, gate: Gate) -> None:
    ids = [
        await crew.submit(f"s{session}", f"{session}:{turn}")
        for turn in range(2)
        for session in range(8)
    ]
    workers = [await crew.hire() for _ in range(2)]
    await crew.idle()
    for worker in workers:
        worker.send(signal.SIGTERM)
    assert [await worker.ended() for worker in workers] == [0, 0]
    for session in range(8):
        asked = [f"{session}:{turn}" for turn in range(2)]
        assert await crew.said(f"s{session}") == [
            text for ask in asked for text in (ask, f"Answer to {ask}")
        ]
        assert [gate.count("model", ask) for ask in asked] == [1, 1]
    assert statuses(crew) == dict.fromkeys(ids, "SUCCESS")


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
    await crew.idle()
    living.send(signal.SIGTERM)
    assert await living.ended() == 0
    assert set(statuses(crew).values()) == {"SUCCESS"}


async def test_a_worker_that_stops_hands_over_what_takes_too_long(crew: Crew, gate: Gate) -> None:
    gate.holds = holding("pay")
    stopping, living = await two(crew, gate, "pay", "--grace", "0.1")
    stopping.send(signal.SIGTERM)
    await gate.wait("pay", pids=[living.pid])
    assert await stopping.ended() == 0
    assert await stopping.line("handed over")
    await living.line("finished")
    assert await crew.said("s") == ["pay", "Paid."]
    assert gate.count("pay", "pay") == 1


async def test_a_worker_may_end_when_nothing_is_left(crew: Crew, gate: Gate) -> None:
    ids = [await crew.submit(f"s{n}", f"hello {n}") for n in range(3)]
    worker = await crew.hire("--once", "--concurrency", "2")
    assert await worker.ended() == 0
    for n in range(3):
        assert await crew.said(f"s{n}") == [f"hello {n}", f"Answer to hello {n}"]
    assert statuses(crew) == dict.fromkeys(ids, "SUCCESS")


async def test_a_workflow_of_a_dead_worker_whose_run_is_finished_is_ended(
    crew: Crew, gate: Gate
) -> None:
    """It died after the run's last commit, before DBOS had noted it."""
    name = await crew.submit("s", "hello")
    first = await crew.hire("--once")
    assert await first.ended() == 0
    change = (
        "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'gone', "
        "output = NULL, started_at_epoch_ms = 1"
    )
    await asyncio.to_thread(execute, crew.db, change, "DELETE FROM dbos.operation_outputs")
    assert statuses(crew) == {name: "PENDING"}
    worker = await crew.hire("--once")
    assert await worker.ended() == 0
    assert statuses(crew) == {name: "SUCCESS"}
    assert await crew.said("s") == ["hello", "Answer to hello"]
    assert gate.count("model", "hello") == 1


SCHEDULED = """
import asyncio, signal, sys

from desk.agent import root_agent
from ostinato.runners import Runner
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.workers import DBOSEngine, Schedule

report = Schedule("report", "* * * * * *", "ann", "s", "report")


async def main():
    service = DatabaseSessionService(sys.argv[1])
    runner = Runner(agent=root_agent, app_name="desk", session_service=service,
                    auto_create_session=True)
    engine = DBOSEngine(runner, sys.argv[1], global_concurrency=1, limit=(100, 1.0),
                        concurrency=1, schedules=[report])
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.stop)
    await engine.serve()
    await service.close()


asyncio.run(main())
"""


async def test_a_schedule_sends_its_message_once_each_time(
    crew: Crew, gate: Gate, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SCHEDULED, "utf-8")
    workers = [await crew.start(str(program), crew.db) for _ in range(2)]
    await gate.wait("report", times=3)
    for worker in workers:
        worker.send(signal.SIGTERM)
    assert [await worker.ended() for worker in workers] == [0, 0], workers[0].lines
    log = await crew.log("s")
    begun = [event.invocation_id for event in log if event.author == "user"]
    assert len(set(begun)) == len(begun) >= 3
    count = (
        "SELECT count(*) FILTER (WHERE status = 'SUCCESS'), count(*) "
        "FROM dbos.workflow_status WHERE name = :name"
    )
    ((finished, all_times),) = execute(crew.db, count, name="ostinato:desk:message")
    waiting = await crew.service.messages(Place("desk", "ann", "s"))
    # One that was under way when its worker ended is finished by the next one.
    assert finished <= len(begun) + len(waiting) <= all_times
