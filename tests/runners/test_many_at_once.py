"""Many requests at once: on one session, and on many."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, final_text
from tests.flows.kit import Store
from tests.flows.kit import store as store

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


async def test_fifty_requests_of_two_processes_on_one_session_are_all_answered(
    tmp_path: Any,
) -> None:
    stores = [Store(tmp_path / "shared.db") for _ in range(2)]
    runners = [runner_over(each.service) for each in stores]
    await stores[0].service.create_session(app_name="talk", user_id="ann", session_id="one")
    texts = [f"message {number}" for number in range(REQUESTS)]
    async with asyncio.timeout(60):
        answers = await asyncio.gather(
            *(say(runners[n % 2], "one", text) for n, text in enumerate(texts))
        )
    assert [final_text(events) for events in answers] == [f"Heard {text}" for text in texts]
    for runner in runners:
        await runner.close()
    async with stores[0].reopened() as service:
        session = await service.get_session(app_name="talk", user_id="ann", session_id="one")
        said = words(session.events)
        # Each is answered before the next begins; those of one process keep their order.
        assert [said[i + 1] for i in range(0, len(said), 2)] == [f"Heard {w}" for w in said[::2]]
        for half in (texts[::2], texts[1::2]):
            assert [text for text in said if text in half] == half
        assert await service.open_leases("talk") == []
    for each in stores:
        await each.close()


@pytest.mark.service
async def test_a_thousand_sessions_at_once(store: Store) -> None:
    runner = runner_over(store.service)
    names = [f"session-{number}" for number in range(SESSIONS)]
    answers = await asyncio.gather(*(say(runner, name, f"I am {name}") for name in names))
    assert [final_text(events) for events in answers] == [f"Heard I am {name}" for name in names]
    await runner.close()
    async with store.reopened() as service:
        listed = await service.list_sessions(app_name="talk", user_id="ann")
        assert {session.id for session in listed.sessions} == set(names)
        assert await service.open_leases("talk") == []
