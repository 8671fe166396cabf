"""The contract of every session store of ours: pages, forks, and deleting many at once."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import (
    AlreadyExistsError,
    InputValidationError,
    NotFoundError,
    SessionNotFoundError,
)
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.sessions.log.event_log import EventRecord
from ostinato.sessions.log.resume import open_calls
from ostinato.sessions.session import Session, log_of, revision_of, tombstones_of
from ostinato.sessions.store.durable_store import DurableStore
from ostinato.types import Content, FunctionCall, FunctionResponse, Part
from tests.unit.sessions.talk import OWNER, PLACE, Clock, Store, begin, claim, reloaded, said, texts


async def pages(store: Store, size: int, **how: Any) -> list[list[str]]:
    found: list[list[str]] = []
    token: str | None = None
    while True:
        answer = await store.list_sessions(**how, page_size=size, page_token=token)
        found.append([one.id for one in answer.sessions])
        token = answer.next_page_token
        if token is None:
            return found


async def test_pages_come_newest_first(store: Store) -> None:
    for n in range(7):
        await store.create_session(**OWNER, session_id=f"s{n}", state={"n": n, "user:u": n})
    await store.create_session(app_name="app", user_id="bob", session_id="b")
    await store.create_session(app_name="other", user_id="ann", session_id="o")
    await store.create_session(**OWNER, session_id="_child:x")
    assert await pages(store, 3, **OWNER) == [["s6", "s5", "s4"], ["s3", "s2", "s1"], ["s0"]]
    assert await pages(store, 7, **OWNER) == [[f"s{n}" for n in range(6, -1, -1)]]
    assert await pages(store, 100, app_name="app") == [["b", *(f"s{n}" for n in range(6, -1, -1))]]
    assert await pages(store, 5, app_name=None) == [
        ["o", "b", "s6", "s5", "s4"],
        ["s3", "s2", "s1", "s0"],
    ]
    assert await pages(store, 5, app_name="none") == [[]]
    newest = (await store.list_sessions(app_name=None, page_size=3)).sessions
    assert [one.state for one in newest] == [{}, {}, {"n": 6, "user:u": 6}]
    first = (await store.list_sessions(**OWNER, page_size=1)).sessions[0]
    assert first.state == {"n": 6, "user:u": 6}
    assert first.events == []
    assert (await store.list_sessions(**OWNER)).next_page_token is None


async def test_pages_are_stable_while_sessions_change(store: Store, clock: Clock) -> None:
    made: dict[str, Session] = {}
    for n in range(6):
        clock.now += n % 2  # some have the same time
        made[f"s{n}"] = await store.create_session(**OWNER, session_id=f"s{n}")
    first = await store.list_sessions(**OWNER, page_size=2)
    assert [one.id for one in first.sessions] == ["s5", "s4"]
    clock.now += 1
    await store.append_event(made["s4"], said("listed already", timestamp=clock.now))
    await store.append_event(made["s1"], said("moved to the front", timestamp=clock.now))
    await store.create_session(**OWNER, session_id="new")
    await store.delete_session(**OWNER, session_id="s4")
    second = await store.list_sessions(**OWNER, page_size=2, page_token=first.next_page_token)
    assert [one.id for one in second.sessions] == ["s3", "s2"]
    third = await store.list_sessions(**OWNER, page_size=2, page_token=second.next_page_token)
    assert ([one.id for one in third.sessions], third.next_page_token) == (["s0"], None)


@pytest.mark.parametrize("token", ["", "nonsense", "eyJhIjoxfQ==", "W10=", "é", "WyJhIiwgMV0="])
async def test_tokens_that_are_none_of_ours(store: Store, token: str) -> None:
    with pytest.raises(InputValidationError, match="page_token"):
        await store.list_sessions(**OWNER, page_size=2, page_token=token)


@pytest.mark.parametrize("size", [0, -1])
async def test_sizes_that_are_no_size(store: Store, size: int) -> None:
    with pytest.raises(InputValidationError, match="page_size"):
        await store.list_sessions(**OWNER, page_size=size)


async def test_a_user_is_forgotten(service: BaseSessionService) -> None:
    for user in ("ann", "bob"):
        for n in range(2):
            made = await service.create_session(app_name="app", user_id=user, session_id=f"s{n}")
            await service.append_event(made, said("x", {"user:u": user, "app:a": 1, "k": 1}))
    elsewhere = await service.create_session(app_name="other", user_id="ann", state={"user:u": 1})
    await service.delete_user("app", "ann")
    await service.delete_user("app", "nobody")
    assert [s.user_id for s in (await service.list_sessions(app_name="app")).sessions] == [
        "bob"
    ] * 2
    assert await service.get_session(**OWNER, session_id="s0") is None
    new = await service.create_session(**OWNER, session_id="s0")
    assert new.state == {"app:a": 1}
    await service.append_event(new, said("y", {"user:v": 1}))
    assert (await reloaded(service, new)).state == {"app:a": 1, "user:v": 1}
    assert (await reloaded(service, elsewhere)).state == {"user:u": 1}
    bob = await service.get_session(app_name="app", user_id="bob", session_id="s0")
    assert bob is not None and bob.state == {"user:u": "bob", "app:a": 1, "k": 1}


async def test_a_users_hidden_sessions_go_too(store: Store) -> None:
    await store.create_session(**OWNER, session_id="_child:x")
    await store.delete_user("app", "ann")
    assert await store.get_session(**OWNER, session_id="_child:x") is None
    assert await store.get_user_state(**OWNER) == {}


async def test_old_sessions_are_deleted(service: BaseSessionService, service_clock: Clock) -> None:
    for n in range(250):
        service_clock.now += 1
        made = await service.create_session(**OWNER, session_id=f"s{n}")
    await service.append_event(made, said("x", timestamp=service_clock.now))
    await service.create_session(app_name="other", user_id="ann")
    assert await service.delete_sessions_before("app", 1000.5) == 0
    assert await service.delete_sessions_before("app", 1240.5) == 240
    left = (await service.list_sessions(app_name="app")).sessions
    assert [one.id for one in left] == [f"s{n}" for n in range(249, 239, -1)]
    assert len((await service.list_sessions(app_name="other")).sessions) == 1
    assert await service.delete_sessions_before("app", 9999.0) == 10
    assert await service.delete_sessions_before("app", 9999.0) == 0


async def test_a_session_where_somebody_runs_stays(
    store: Store, session: Session, clock: Clock
) -> None:
    fence = await begin(store, session, claim())
    idle = await store.create_session(**OWNER, session_id="s2")
    given_back = await begin(store, idle, claim())
    await store.release(PLACE._replace(session_id="s2"), given_back)
    clock.now += 20
    assert await store.delete_sessions_before("app", clock.now) == 1
    await store.append(session, [said("still there", timestamp=clock.now)], fence=fence)
    clock.now += 20
    assert await store.delete_sessions_before("app", clock.now) == 1


async def told(service: BaseSessionService) -> Session:
    """A session with state, a removed key, a rewind and an exchange."""
    made = await service.create_session(**OWNER, session_id="s1", state={"a": 1, "user:u": 1})
    await service.append_event(made, said("one", {"k": 1, "user:u": 2, "gone": 1}, id="e1"))
    await service.append_event(made, said("two", {"k": 2, "gone": None}, id="e2"))
    await service.append_event(
        made, said("hidden", {"k": 3, "h": 1}, id="e3", invocation_id="inv-3")
    )
    actions = EventActions(rewind_before_invocation_id="inv-3", state_delta={"k": 2, "h": None})
    await service.append_event(made, Event(author="user", id="e4", actions=actions))
    await service.append_event(made, said("five", {"k": 5}, id="e5"))
    return made


@pytest.mark.parametrize(
    ("at", "ids", "state"),
    [
        (None, ["e1", "e2", "e3", "e4", "e5"], {"a": 1, "k": 5}),
        ("e5", ["e1", "e2", "e3", "e4", "e5"], {"a": 1, "k": 5}),
        ("e4", ["e1", "e2", "e3", "e4"], {"a": 1, "k": 2}),
        ("e3", ["e1", "e2", "e3"], {"a": 1, "k": 3, "h": 1}),
        ("e1", ["e1"], {"a": 1, "k": 1, "gone": 1}),
    ],
)
async def test_a_fork_has_the_events_and_their_state(
    service: BaseSessionService, at: str | None, ids: list[str], state: dict[str, Any]
) -> None:
    source = await told(service)
    fork = await service.fork_session(**OWNER, session_id="s1", at_event=at, new_session_id="f")
    before = await reloaded(service, source)
    for seen in (fork, await reloaded(service, fork)):
        assert (seen.id, [e.id for e in seen.events]) == ("f", ids)
        assert seen.state == {**state, "user:u": 2}
        assert texts(seen) == texts(before)[: len(texts(seen))]
        if isinstance(service, DurableStore):
            assert seen.events == before.events[: len(ids)]
            assert revision_of(seen) == len(ids)
    await service.append_event(fork, said("own", {"k": 9, "user:u": 3}))
    again = await reloaded(service, source)
    assert len(again.events) == 5
    assert again.state == {"a": 1, "k": 5, "user:u": 3}
    await service.delete_session(**OWNER, session_id="s1")
    assert (await reloaded(service, fork)).state["k"] == 9
    assert len((await reloaded(service, fork)).events) == len(ids) + 1


async def test_a_fork_keeps_what_was_removed_and_what_was_there_first(store: Store) -> None:
    await told(store)
    fork = await store.fork_session(**OWNER, session_id="s1")
    assert "gone" in tombstones_of(fork)
    assert await store.initial_state(fork) == {"a": 1}
    assert len(fork.id) == 36
    assert await store.journal(PLACE._replace(session_id=fork.id), "e-1") == []


async def test_forks_that_cannot_be_made(service: BaseSessionService) -> None:
    await told(service)
    with pytest.raises(NotFoundError, match="'e9'"):
        await service.fork_session(**OWNER, session_id="s1", at_event="e9", new_session_id="f")
    with pytest.raises(SessionNotFoundError, match="nobody"):
        await service.fork_session(**OWNER, session_id="nobody", new_session_id="f")
    with pytest.raises(AlreadyExistsError):
        await service.fork_session(**OWNER, session_id="s1", new_session_id="s1")
    with pytest.raises(InputValidationError):
        await service.fork_session(**OWNER, session_id="s1", new_session_id="a/b")
    assert [s.id for s in (await service.list_sessions(**OWNER)).sessions] == ["s1"]
    assert await service.get_session(**OWNER, session_id="f") is None


def call_of(call_id: str) -> Part:
    return Part(function_call=FunctionCall(id=call_id, name="pay", args={}))


async def test_a_fork_between_call_and_response_answers_the_call(
    service: BaseSessionService,
) -> None:
    source = await service.create_session(**OWNER, session_id="s1")
    await service.append_event(source, said("pay", id="e1"))
    asked = Event(
        id="e2",
        author="bot",
        branch="a.b",
        invocation_id="e-1",
        content=Content(role="model", parts=[call_of("c1"), call_of("c2"), call_of("c3")]),
        long_running_tool_ids={"c3"},
    )
    await service.append_event(source, asked)
    given = FunctionResponse(id="c1", name="pay", response={"ok": 1})
    await service.append_event(
        source,
        Event(
            id="e3",
            author="bot",
            branch="a.b",
            invocation_id="e-1",
            content=Content(role="user", parts=[Part(function_response=given)]),
        ),
    )
    for at, open_ones in (("e2", ["c1", "c2"]), ("e3", ["c2"])):
        fork = await service.fork_session(**OWNER, session_id="s1", at_event=at)
        last = (await reloaded(service, fork)).events[-1]
        assert last.content is not None and last.content.role == "user"
        assert (last.author, last.branch, last.invocation_id) == ("bot", "a.b", "e-1")
        found = [part.function_response for part in last.content.parts or []]
        assert [one.id for one in found if one] == open_ones
        assert all(
            "forked before" in one.response["error"] for one in found if one and one.response
        )
        assert [call.call_id for call in open_calls(log_of(fork), "e-1", below=True)] == ["c3"]
    whole = await service.fork_session(**OWNER, session_id="s1", at_event="e1")
    assert texts(whole) == ["pay"]


async def test_an_append_of_many_events_compares_none_with_the_others(
    store: DurableStore, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[object] = []

    def equals(self: EventRecord, other: object) -> bool:
        compared.append(other)
        return self is other

    monkeypatch.setattr(EventRecord, "__eq__", equals)
    events = [said(f"{n}") for n in range(50)]
    await store.append(session, events)
    assert [event.id for event in session.events] == [event.id for event in events]
    assert compared == []
