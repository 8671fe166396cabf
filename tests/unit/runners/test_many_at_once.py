"""Many requests at once: on one session, and on many."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.testing import FunctionModel, final_text
from tests.support.databases import SERVERS, new_database
from tests.unit.flows.kit import Store
from tests.unit.flows.kit import store as store

REQUESTS, SESSIONS = 50, 1000


def echo(request: Any) -> str:
    return "Heard " + [p.text for c in request.contents for p in c.parts or () if p.text][-1]


def runner_over(service: Any) -> Runner:
    app = App(name="talk", root_agent=LlmAgent(name="root", model=FunctionModel(echo)))
    return Runner(app=app, session_service=service, auto_create_session=True)


async def say(runner: Runner, session_id: str, text: str) -> list[Event]:
    run = runner.run_async(user_id="ann", session_id=session_id, new_message=text)
    return [event async for event in run]


def words(log: list[Event]) -> list[str]:
    return [p.text for e in log for p in (e.content.parts if e.content else None) or () if p.text]


def on_server(server: str, number: int, check: Callable[[list[Any]], Awaitable[None]]) -> None:
    """Check services on a new database."""

    async def work(url: str) -> None:
        services = [DatabaseSessionService(url) for _ in range(number)]
        try:
            await check(services)
        finally:
            for service in services:
                await service.close()

    with new_database(server) as url:
        asyncio.run(work(url))
        gc.collect()
    gc.collect()


# The thread that renews leases has a connection of its own, which lasts longer than the database.
leaves_connection = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


async def test_fifty_requests_on_one_session_are_answered_in_order(store: Store) -> None:
    runner = runner_over(store.service)
    texts = [f"message {number}" for number in range(REQUESTS)]
    answers = await asyncio.gather(*(say(runner, "one", text) for text in texts))
    assert [final_text(events) for events in answers] == [f"Heard {text}" for text in texts]
    await runner.close()
    async with store.reopened() as service:
        session = await service.get_session(app_name="talk", user_id="ann", session_id="one")
        assert words(session.events) == [w for text in texts for w in (text, f"Heard {text}")]
        assert await service.waiting_places("talk") == []
        assert await service.open_leases("talk") == []


@pytest.mark.long
async def test_fifty_requests_of_two_processes_on_one_session_are_all_answered(
    tmp_path: Path,
) -> None:
    stores = [Store(tmp_path / "shared.db") for _ in range(2)]
    await check_two_processes([each.service for each in stores])
    for each in stores:
        await each.close()


async def check_two_processes(services: list[Any]) -> None:
    """Each is answered before the next begins; those of one process keep their order."""
    runners = [runner_over(service) for service in services]
    await services[0].create_session(app_name="talk", user_id="ann", session_id="one")
    texts = [f"message {number}" for number in range(REQUESTS)]
    async with asyncio.timeout(60):
        answers = await asyncio.gather(
            *(say(runners[n % 2], "one", text) for n, text in enumerate(texts))
        )
    assert [final_text(events) for events in answers] == [f"Heard {text}" for text in texts]
    for runner in runners:
        await runner.close()
    session = await services[1].get_session(app_name="talk", user_id="ann", session_id="one")
    said = words(session.events)
    assert [said[i + 1] for i in range(0, len(said), 2)] == [f"Heard {w}" for w in said[::2]]
    for half in (texts[::2], texts[1::2]):
        assert [text for text in said if text in half] == half
    assert await services[1].open_leases("talk") == []


@pytest.mark.service
@leaves_connection
@pytest.mark.parametrize("server", SERVERS)
def test_fifty_requests_of_two_processes_on_one_session_of_a_server(server: str) -> None:
    on_server(server, 2, check_two_processes)


@pytest.mark.service
async def test_a_thousand_sessions_at_once(store: Store) -> None:
    await check_thousand([store.service])


@pytest.mark.service
@leaves_connection
@pytest.mark.parametrize("server", SERVERS)
def test_a_thousand_sessions_of_a_server_at_once(server: str) -> None:
    on_server(server, 1, check_thousand)


async def check_thousand(services: list[Any]) -> None:
    (service,) = services
    runner = runner_over(service)
    names = [f"session-{number}" for number in range(SESSIONS)]
    answers = await asyncio.gather(*(say(runner, name, f"I am {name}") for name in names))
    assert [final_text(events) for events in answers] == [f"Heard I am {name}" for name in names]
    await runner.close()
    listed = await service.list_sessions(app_name="talk", user_id="ann")
    assert {session.id for session in listed.sessions} == set(names)
    if service.shared:
        assert await service.open_leases("talk") == []
