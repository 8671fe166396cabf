"""The handle of a run: the numbers of its events, and handing the run over to another process."""

from __future__ import annotations

import asyncio

import pytest

from ostinato.agents import LlmAgent
from ostinato.testing import ScriptedModel, call
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def test_each_stored_event_has_its_number_in_the_session(store: Store) -> None:
    model = ScriptedModel([[call("add", a=1, b=2)], "3", "again"])
    talk = Talk(LlmAgent(name="root", model=model, tools=[add]), store)
    for message in ("Add", "Go"):
        run = talk.runner.start(user_id=USER, session_id=SESSION, new_message=message)
        events = (await run.result()).events
        assert run.done
        stored = await store.service.get_session(
            app_name=talk.runner.app_name, user_id=USER, session_id=SESSION
        )
        assert stored is not None
        ids = [event.id for event in stored.events]
        assert [run.numbers[event.id] for event in events] == [
            ids.index(event.id) + 1 for event in events
        ]


async def test_a_run_that_is_handed_over_is_finished_by_another(two_owners: list[Owner]) -> None:
    first, second = two_owners
    begun = asyncio.Event()

    async def dig() -> str:
        """Dig."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def dug() -> str:
        """Dig."""
        return "deep"

    dug.__name__ = "dig"
    run = first.talk([[call("dig")]], [dig]).runner.start(
        user_id=USER, session_id=SESSION, new_message="Go"
    )
    await begun.wait()
    await run.hand_over()
    with pytest.raises((asyncio.CancelledError, Exception)):
        await run.result()
    done = await second.talk(["Done."], [dug]).runner.resume_open()
    assert [one.outcome for one in done] == ["finished"]
    session = await second.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    assert session is not None
    answers = [r.response for e in session.events for r in e.get_function_responses()]
    assert answers == [{"result": "deep"}]
