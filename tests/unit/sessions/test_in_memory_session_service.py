"""InMemorySessionService: what it does beyond the contract of every session store."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import field_validator

from ostinato.agents import LlmAgent
from ostinato.errors import InputValidationError
from ostinato.events import Event, EventActions
from ostinato.runners import InMemoryRunner
from ostinato.sessions import BaseSessionService, InMemorySessionService, Session
from ostinato.testing import ScriptedModel
from tests.unit.workflow.kit import adk_ways


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
async def test_programs_for_google_adk_keep_any_object_and_get_a_copy() -> None:
    service = InMemorySessionService()
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    with adk_ways():
        made = await service.create_session(**place, state={"list": [1], "thing": Thing()})
    made.state["list"].append(2)
    session = await service.get_session(**place)
    assert session is not None
    assert session.state["list"] == [1] and isinstance(session.state["thing"], Thing)


@pytest.mark.parametrize("value", [object(), float("nan"), b"a", {1}, [Thing()], "\ud800"])
async def test_a_state_that_no_other_store_takes_is_refused(value: Any) -> None:
    service = InMemorySessionService()
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    with pytest.raises(InputValidationError, match="State key 'k' holds a value that JSON"):
        await service.create_session(**place, state={"k": value})
    session = await service.create_session(**place, state={"temp:k": value})
    for key in ("k", "user:k", "app:k"):
        event = Event(author="clerk", actions=EventActions(state_delta={key: value}))
        with pytest.raises(InputValidationError, match=f"State key '{key}'"):
            await service.append_event(session, event)
    event = Event(author="clerk", actions=EventActions(state_delta={"temp:k": value}))
    await service.append_event(session, event)
    stored = await service.get_session(**place)
    assert stored is not None and len(stored.events) == 1 and stored.state == {}


@pytest.mark.spec(192)
async def test_what_is_stored_can_be_looked_at() -> None:
    service = InMemorySessionService()
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    state = {"x": 1, "app:y": 2, "user:z": 3, "temp:t": 4}
    session = await service.create_session(**place, state=state)
    await service.create_session(app_name="app", user_id="bob", session_id="s")
    changes = EventActions(state_delta={"k": 6, "app:w": 5, "user:q": [7]})
    await service.append_event(session, Event(author="clerk", actions=changes))

    stored = service.sessions["app"]["ann"]["s"]
    assert stored.state == {"x": 1, "k": 6}
    assert [event.author for event in stored.events] == ["clerk"]
    assert service.sessions["app"]["bob"]["s"].events == []
    assert service.app_state == {"app": {"y": 2, "w": 5}}
    assert service.user_state == {"app": {"ann": {"z": 3, "q": [7]}}}

    service.user_state["app"]["ann"]["q"].append(8)
    assert service.user_state["app"]["ann"]["q"] == [7, 8]
    with pytest.raises(AttributeError):
        service.sessions = {}  # type: ignore[misc]


def found(service: InMemorySessionService, session_id: str = "s", user_id: str = "ann") -> Any:
    return service.get_session_sync(app_name="app", user_id=user_id, session_id=session_id)


async def test_edits_of_a_stored_session_are_stored() -> None:
    """As in google-adk."""
    service = InMemorySessionService()
    service.create_session_sync(app_name="app", user_id="ann", session_id="s", state={"k": [1]})
    shown = service.sessions["app"]["ann"]["s"]
    shown.state["direct"] = {}
    shown.state["direct"]["deep"] = 1
    shown.state["k"].append(2)
    shown.events.append(Event(author="user"))
    assert found(service).state == {"k": [1, 2], "direct": {"deep": 1}}
    assert [event.author for event in found(service).events] == ["user"]

    changes = EventActions(state_delta={"z": 1, "temp:t": 1, "user:w": 2})
    await service.append_event(shown, Event(author="clerk", actions=changes))
    assert [event.author for event in found(service).events] == ["user", "clerk"]
    assert [event.author for event in shown.events] == ["user", "clerk"]
    assert found(service).state == {"k": [1, 2], "direct": {"deep": 1}, "z": 1, "user:w": 2}

    copied = copy.deepcopy(shown)
    copied.state["own"], copied.events[:] = 1, []
    assert "own" not in found(service).state and len(found(service).events) == 2

    assert shown.state.pop("z") == 1 and shown.state.pop("z", None) is None
    shown.state |= {"more": 3}
    assert shown.state.setdefault("more", 4) == 3
    del shown.events[0]
    assert found(service).state == {"k": [1, 2], "direct": {"deep": 1}, "more": 3, "user:w": 2}
    assert [event.author for event in found(service).events] == ["clerk"]
    shown.state.clear()
    shown.events.clear()
    assert found(service).state == {"user:w": 2} and found(service).events == []


def test_edits_of_what_is_stored_are_stored() -> None:
    """As in google-adk."""
    service = InMemorySessionService()
    for user_id in ("ann", "bob"):
        for session_id in ("s", "t"):
            service.create_session_sync(app_name="app", user_id=user_id, session_id=session_id)
    service.user_state["app"] = {"ann": {"a": 1}}
    service.user_state["app"]["bob"] = {"b": 2}
    service.app_state.setdefault("app", {})["c"] = 3
    assert found(service).state == {"user:a": 1, "app:c": 3}
    assert found(service, user_id="bob").state == {"user:b": 2, "app:c": 3}
    service.user_state["app"].popitem()
    service.app_state.clear()
    assert found(service).state == {"user:a": 1} and found(service, user_id="bob").state == {}

    del service.sessions["app"]["ann"]["t"]
    assert found(service, "t") is None and found(service, "t", "bob") is not None
    made = Session(
        id="x", app_name="app", user_id="ann", state={"q": 1}, events=[Event(author="user")]
    )
    service.sessions["app"] = {"ann": {"x": made}}
    assert found(service) is None and found(service, "s", "bob") is None
    assert found(service, "x").state == {"q": 1, "user:a": 1}
    assert [event.author for event in found(service, "x").events] == ["user"]
    service.sessions.clear()
    assert service.sessions == {} and found(service, "x") is None


async def test_programs_for_google_adk_list_in_the_order_of_creation() -> None:
    service = InMemorySessionService()
    for session_id in "abc":
        await service.create_session(app_name="app", user_id="ann", session_id=session_id)
    with adk_ways():
        listed = await service.list_sessions(app_name="app", user_id="ann")
    assert [session.id for session in listed.sessions] == ["a", "b", "c"]
    listed = await service.list_sessions(app_name="app", user_id="ann")
    assert [session.id for session in listed.sessions] == ["c", "b", "a"]


async def test_events_keep_their_class() -> None:
    class Scored(Event):
        score: int

    class Closed(Event):
        lock: Any = None

        @field_validator("lock")
        @classmethod
        def check(cls, value: Any) -> Any:
            if isinstance(value, str):
                raise ValueError("no text")
            return value

    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="ann", session_id="s")
    for event in (Scored(author="a", score=3), Closed(author="b", lock=Thing())):
        await service.append_event(session, event)
    scored, closed = found(service).events
    assert isinstance(scored, Scored) and (scored.score, scored.author) == (3, "a")
    assert scored.id == session.events[0].id
    assert type(closed) is Event and closed.author == "b"  # its class refuses what JSON carries


def test_it_can_be_used_without_an_event_loop() -> None:
    service = InMemorySessionService()
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
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
