"""InMemorySessionService: what it does beyond the contract of every session store."""

from __future__ import annotations

import pytest

from ostinato.agents import LlmAgent
from ostinato.events import Event, EventActions
from ostinato.runners import InMemoryRunner
from ostinato.sessions import BaseSessionService, InMemorySessionService
from ostinato.testing import ScriptedModel


class Thing:
    """A value that JSON cannot carry."""


@pytest.mark.spec(192)
async def test_sessions_live_as_long_as_the_service_and_are_its_own() -> None:
    one, two = InMemorySessionService(), InMemorySessionService()
    assert isinstance(one, BaseSessionService)
    await one.create_session(app_name="app", user_id="ann", session_id="s")
    assert await one.get_session(app_name="app", user_id="ann", session_id="s") is not None
    assert await two.get_session(app_name="app", user_id="ann", session_id="s") is None


@pytest.mark.spec(192)
async def test_a_state_of_any_python_object_is_kept_and_handed_out_as_a_copy() -> None:
    service = InMemorySessionService()
    place = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    made = await service.create_session(**place, state={"list": [1], "thing": Thing()})
    made.state["list"].append(2)
    session = await service.get_session(**place)
    assert session is not None
    assert session.state["list"] == [1] and isinstance(session.state["thing"], Thing)


@pytest.mark.spec(192)
def test_it_can_be_used_without_an_event_loop() -> None:
    service = InMemorySessionService()
    place = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    made = service.create_session_sync(**place)
    assert made.id == "s"
    assert service.get_session_sync(**place) == made
    listed = service.list_sessions_sync(app_name="app", user_id="ann").sessions
    assert [s.id for s in listed] == ["s"]
    service.delete_session_sync(**place)
    assert service.get_session_sync(**place) is None


@pytest.mark.spec(192)
async def test_an_appended_event_is_kept_as_it_was() -> None:
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="ann", session_id="s")
    event = Event(author="user", actions=EventActions(state_delta={"k": [1]}))
    await service.append_event(session, event)
    event.actions.state_delta["k"].append(2)
    again = await service.get_session(app_name="app", user_id="ann", session_id="s")
    assert again is not None
    assert again.state == {"k": [1]} and again.events[0].actions.state_delta == {"k": [1]}


@pytest.mark.spec(192)
def test_the_in_memory_runner_uses_it() -> None:
    runner = InMemoryRunner(agent=LlmAgent(name="a", model=ScriptedModel()), app_name="app")
    assert type(runner.session_service) is InMemorySessionService
