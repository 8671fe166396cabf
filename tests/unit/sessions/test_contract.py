"""The contract of every session store of ours: the port and `DurableStore`."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from ostinato import _clock
from ostinato.errors import AlreadyExistsError, InputValidationError, SessionNotFoundError
from ostinato.events.event import Event
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.sessions.session import Session, log_of, tombstones_of
from ostinato.sessions.store.durable_store import DurableStore
from ostinato.types import Content, FunctionCall, FunctionResponse, Part
from tests.unit.sessions.talk import OWNER, Store, reloaded, said, texts


def test_ours_are_durable_stores(store: Store) -> None:
    assert isinstance(store, BaseSessionService)
    assert isinstance(store, DurableStore)


@pytest.mark.spec(181, 190)
async def test_create_and_get(store: Store) -> None:
    made = await store.create_session(**OWNER, state={"a": 1}, session_id="s1")
    assert (made.id, made.app_name, made.user_id) == ("s1", "app", "ann")
    assert made.state == {"a": 1}
    assert made.events == []
    assert made.last_update_time > 0
    assert await reloaded(store, made) == made


async def test_ids_are_made_up_where_none_is_given(store: Store) -> None:
    made = [await store.create_session(**OWNER, session_id=given) for given in (None, "", "  ")]
    assert len({s.id for s in made}) == 3
    assert all(len(s.id) == 36 for s in made)


async def test_blanks_around_an_id_are_dropped(store: Store) -> None:
    assert (await store.create_session(**OWNER, session_id=" s1 ")).id == "s1"


async def test_an_id_is_taken_once_per_app_and_user(store: Store) -> None:
    await store.create_session(**OWNER, session_id="s1", state={"user:a": 1})
    with pytest.raises(AlreadyExistsError, match="Session with id s1 already exists"):
        await store.create_session(**OWNER, session_id="s1", state={"user:a": 2})
    assert await store.get_user_state(**OWNER) == {"a": 1}
    other = await store.create_session(app_name="app", user_id="bob", session_id="s1")
    assert other.state == {}


@pytest.mark.parametrize(
    "bad",
    ["a/b", "..", "a\\b", "x" * 257, "a\0b", "a\nb", "\ud800", "a\u2028b", "a\x85b", 5],
)
async def test_names_that_are_refused(store: Store, bad: Any) -> None:
    for name in ("app_name", "user_id", "session_id"):
        with pytest.raises(InputValidationError, match=name.replace("_", " ")):
            await store.create_session(**{**OWNER, name: bad})
    assert (await store.list_sessions(app_name="app")).sessions == []


async def test_what_does_not_exist(store: Store) -> None:
    for name in ("nope", "", "\ud800", "a\0b", "x" * 20_000):
        assert await store.get_session(**OWNER, session_id=name) is None
        assert await store.open_session(**OWNER, session_id=name) is None
        await store.delete_session(**OWNER, session_id=name)
        assert await store.get_user_state(app_name="app", user_id=name) == {}
        assert (await store.list_sessions(app_name=name)).sessions == []
    ghost = Session(id="nope", **OWNER)
    with pytest.raises(SessionNotFoundError, match="nope"):
        await store.append_event(ghost, said("hello"))
    with pytest.raises(SessionNotFoundError, match="nope"):
        await store.initial_state(ghost)
    assert ghost.events == []


@pytest.mark.spec(184, 189, 190)
async def test_append_shows_in_the_session_and_in_the_store(store: Store) -> None:
    session = await store.create_session(**OWNER)
    event = said("hello", {"n": 1, "nested": {"list": [1, None]}})
    assert await store.append_event(session, event) is event
    assert texts(session) == ["hello"]
    assert session.state == {"n": 1, "nested": {"list": [1, None]}}
    assert session.last_update_time == event.timestamp
    again = await reloaded(store, session)
    assert again == session
    assert again.events[0] == event


@pytest.mark.spec(189)
async def test_an_event_without_id_gets_one(store: Store) -> None:
    session = await store.create_session(**OWNER)
    event = await store.append_event(session, said("hello", id=""))
    assert len(event.id) == 36
    assert (await reloaded(store, session)).events[0].id == event.id


@pytest.mark.spec(188)
async def test_partial_events_are_not_stored(store: Store) -> None:
    session = await store.create_session(**OWNER)
    await store.append_event(session, said("hel", {"n": 1}, partial=True))
    assert session.events == []
    assert session.state == {}
    assert (await reloaded(store, session)).events == []


@pytest.mark.spec(182)
async def test_state_goes_to_its_scope(store: Store) -> None:
    one = await store.create_session(
        **OWNER, state={"own": 1, "user:u": 2, "app:a": 3, "temp:t": 4}, session_id="one"
    )
    assert one.state == {"own": 1, "user:u": 2, "app:a": 3}
    await store.append_event(one, said("x", {"user:u": 5, "app:b": [6], "temp:t": 7}))
    assert one.state == {"own": 1, "user:u": 5, "app:a": 3, "app:b": [6], "temp:t": 7}
    two = await store.create_session(**OWNER, session_id="two")
    assert two.state == {"user:u": 5, "app:a": 3, "app:b": [6]}
    bob = await store.create_session(app_name="app", user_id="bob")
    assert bob.state == {"app:a": 3, "app:b": [6]}
    other = await store.create_session(app_name="other", user_id="ann")
    assert other.state == {}
    assert await store.get_user_state(**OWNER) == {"u": 5}


@pytest.mark.spec(182)
async def test_temporary_keys_are_not_in_the_stored_event(store: Store) -> None:
    session = await store.create_session(**OWNER)
    event = said("x", {"temp:t": object(), "n": 1})
    await store.append_event(session, event)
    assert event.actions.state_delta == {"n": 1}
    again = await reloaded(store, session)
    assert again.state == {"n": 1}
    assert again.events[0].actions.state_delta == {"n": 1}


@pytest.mark.spec(185)
async def test_none_removes_a_key_and_is_remembered(store: Store) -> None:
    session = await store.create_session(**OWNER, state={"a": 1, "user:u": 1, "app:p": 1})
    await store.append_event(session, said("x", {"a": None, "user:u": None, "app:p": None}))
    for seen in (session, await reloaded(store, session)):
        assert seen.state == {}
        assert tombstones_of(seen) == {"a", "user:u", "app:p"}
    assert await store.get_user_state(**OWNER) == {}
    await store.append_event(session, said("x", {"a": 2}))
    again = await reloaded(store, session)
    assert again.state == {"a": 2}
    assert tombstones_of(again) == {"user:u", "app:p"}


async def test_sessions_of_one_user_see_each_others_shared_state(store: Store) -> None:
    one = await store.create_session(**OWNER, session_id="one")
    two = await store.create_session(**OWNER, session_id="two")
    await store.append_event(one, said("x", {"user:u": 1, "app:a": 1}))
    assert (await reloaded(store, two)).state == {"user:u": 1, "app:a": 1}
    await store.append_event(two, said("x", {"user:u": 2}))
    assert (await reloaded(store, one)).state == {"user:u": 2, "app:a": 1}


async def test_what_is_handed_out_is_a_copy(store: Store) -> None:
    given = {"deep": {"list": [1]}}
    made = await store.create_session(**OWNER, state=given)
    delta = {"more": {"list": [1]}}
    await store.append_event(made, said("x", delta))
    given["deep"]["list"].append(2)
    delta["more"]["list"].append(2)
    made.state["deep"]["list"].append(3)
    made.state["new"] = 1
    first = await reloaded(store, made)
    assert first.state == {"deep": {"list": [1]}, "more": {"list": [1]}}
    first.state["deep"]["list"].append(4)
    first.events.clear()
    second = await reloaded(store, made)
    assert second.state == {"deep": {"list": [1]}, "more": {"list": [1]}}
    assert texts(second) == ["x"]


async def test_edits_after_the_append_do_not_reach_the_store(store: Store) -> None:
    session = await store.create_session(**OWNER)
    event = await store.append_event(session, said("hello"))
    assert event.content is not None
    event.content.parts = [Part(text="changed")]
    assert texts(await reloaded(store, session)) == ["hello"]


async def test_appending_an_event_again_changes_nothing(store: Store) -> None:
    session = await store.create_session(**OWNER)
    event = said("hello", {"n": 1})
    await store.append_event(session, event)
    await store.append_event(session, said("then", {"n": 2}))
    await store.append_event(session, event)
    await store.append_event(await reloaded(store, session), event)
    for seen in (session, await reloaded(store, session)):
        assert texts(seen) == ["hello", "then"]
        assert seen.state == {"n": 2}


async def test_the_same_event_may_be_in_two_sessions(store: Store) -> None:
    event = said("hello")
    for name in ("one", "two"):
        await store.append_event(await store.create_session(**OWNER, session_id=name), event)
    for name in ("one", "two"):
        found = await store.get_session(**OWNER, session_id=name)
        assert found is not None and texts(found) == ["hello"]


async def test_calls_and_responses_come_back(store: Store) -> None:
    session = await store.create_session(**OWNER)
    call = FunctionCall(id="c1", name="add", args={"a": 2, "b": [None]})
    answer = FunctionResponse(id="c1", name="add", response={"result": 5})
    await store.append_event(
        session,
        Event(
            author="bot",
            branch="a.b",
            invocation_id="e-2",
            content=Content(role="model", parts=[Part(function_call=call)]),
            long_running_tool_ids={"c1"},
        ),
    )
    await store.append_event(
        session,
        Event(author="bot", content=Content(role="user", parts=[Part(function_response=answer)])),
    )
    again = await reloaded(store, session)
    assert again == session
    assert again.events[0].branch == "a.b"
    record = log_of(again).records[0]
    assert record.calls == (("c1", "add"),)
    assert record.long_running == {"c1"}
    assert log_of(again).records[1].responses == (("c1", "add"),)


@pytest.mark.spec(190)
async def test_config_chooses_events(store: Store) -> None:
    times = iter(range(1, 100))
    with _clock.replace_sources(time=lambda: float(next(times))):
        session = await store.create_session(**OWNER, state={"k": 1, "user:u": 2})
        events = [await store.append_event(session, said(f"m{n}")) for n in range(5)]
    stamp = events[3].timestamp
    chosen = [
        ({"num_recent_events": 2}, ["m3", "m4"]),
        ({"num_recent_events": 0}, []),
        ({"num_recent_events": 9}, ["m0", "m1", "m2", "m3", "m4"]),
        ({"after_timestamp": stamp}, ["m3", "m4"]),
        ({"after_timestamp": math.nextafter(stamp, math.inf)}, ["m4"]),
        ({"after_timestamp": 1000.0}, []),
        ({"num_recent_events": 1, "after_timestamp": stamp}, ["m4"]),
        ({"num_recent_events": 4, "after_timestamp": stamp}, ["m3", "m4"]),
        ({"num_recent_events": None}, ["m0", "m1", "m2", "m3", "m4"]),
    ]
    for config, expected in chosen:
        found = await reloaded(store, session, **config)
        assert texts(found) == expected
        assert found.state == {"k": 1, "user:u": 2}
        assert log_of(found).offset == 5 - len(expected)


async def test_a_limited_session_takes_events(store: Store) -> None:
    session = await store.create_session(**OWNER)
    for n in range(3):
        await store.append_event(session, said(f"m{n}"))
    part = await reloaded(store, session, num_recent_events=1)
    await store.append_event(part, said("m3"))
    assert texts(part) == ["m2", "m3"]
    assert texts(await reloaded(store, session)) == ["m0", "m1", "m2", "m3"]


@pytest.mark.spec(191)
async def test_list_comes_newest_first_without_events(store: Store) -> None:
    made = [
        await store.create_session(**OWNER, session_id=name, state={"n": name, "user:u": 1})
        for name in ("one", "two", "three")
    ]
    bob = await store.create_session(app_name="app", user_id="bob", state={"app:a": 1})
    await store.create_session(app_name="other", user_id="ann")
    await store.append_event(made[0], said("hello", {"gone": 1}))
    await store.append_event(made[0], said("hello", {"gone": None}))
    listed = (await store.list_sessions(**OWNER)).sessions
    assert [s.id for s in listed] == ["one", "three", "two"]
    assert [s.state for s in listed] == [{"n": s.id, "user:u": 1, "app:a": 1} for s in listed]
    assert all(s.events == [] for s in listed)
    assert listed[0].last_update_time == made[0].last_update_time
    everyone = (await store.list_sessions(app_name="app")).sessions
    assert [s.id for s in everyone] == ["one", bob.id, "three", "two"]
    assert everyone[1].state == {"app:a": 1}


async def test_child_sessions_are_not_listed(store: Store) -> None:
    await store.create_session(**OWNER, session_id="_child:s1:c1")
    await store.create_session(**OWNER, session_id="_childish")
    for user in ("ann", None):
        listed = (await store.list_sessions(app_name="app", user_id=user)).sessions
        assert [s.id for s in listed] == ["_childish"]
    assert await store.get_session(**OWNER, session_id="_child:s1:c1") is not None


async def test_delete(store: Store) -> None:
    session = await store.create_session(**OWNER, session_id="s1", state={"a": 1, "user:u": 1})
    await store.append_event(session, said("hello"))
    await store.delete_session(**OWNER, session_id="s1")
    assert await store.get_session(**OWNER, session_id="s1") is None
    assert (await store.list_sessions(**OWNER)).sessions == []
    with pytest.raises(SessionNotFoundError):
        await store.append_event(session, said("late"))
    again = await store.create_session(**OWNER, session_id="s1")
    assert again.state == {"user:u": 1}
    await store.append_event(again, said("new"))
    assert texts(await reloaded(store, again)) == ["new"]


async def test_initial_state_is_kept(store: Store) -> None:
    session = await store.create_session(
        **OWNER, state={"a": [1], "none": None, "user:u": 2, "app:p": 3, "temp:t": 4}
    )
    await store.append_event(session, said("x", {"a": 5, "b": 6}))
    initial = await store.initial_state(session)
    assert initial == {"a": [1]}
    initial["a"].append(2)
    assert await store.initial_state(await reloaded(store, session)) == {"a": [1]}
    assert await store.initial_state(await store.create_session(**OWNER)) == {}


async def test_a_run_shares_the_log_and_owns_its_state(store: Store) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    first = await store.open_session(**OWNER, session_id="s1")
    second = await store.open_session(**OWNER, session_id="s1")
    assert first is not None and second is not None
    assert log_of(first) is log_of(second)
    await store.append_event(first, said("hello", {"n": 1}))
    assert len(log_of(second)) == 1
    assert second.state == {}
    assert second.events == []
    assert texts(await reloaded(store, made)) == ["hello"]


async def test_many_sessions_at_once(store: Store) -> None:
    sessions = [await store.create_session(**OWNER, session_id=f"s{n}") for n in range(20)]

    async def talk(session: Session) -> None:
        for n in range(5):
            await store.append_event(session, said(f"m{n}", {"n": n, f"user:{session.id}": n}))

    await asyncio.gather(*map(talk, sessions))
    for session in sessions:
        found = await reloaded(store, session)
        assert texts(found) == texts(session) == [f"m{n}" for n in range(5)]
        assert found.state["n"] == 4
    assert await store.get_user_state(**OWNER) == {s.id: 4 for s in sessions}


async def test_appends_to_one_session_at_once(store: Store) -> None:
    session = await store.create_session(**OWNER)
    events = [said(f"m{n}", {f"k{n}": n}) for n in range(50)]
    await asyncio.gather(*(store.append_event(session, e) for e in events))
    found = await reloaded(store, session)
    assert texts(found) == texts(session) == [f"m{n}" for n in range(50)]
    assert found.state == session.state == {f"k{n}": n for n in range(50)}
