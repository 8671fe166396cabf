"""Messages and answers that come while a session is rewound: whichever comes second is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import RequestWithdrawnError, SessionBusyError
from ostinato.events import Event
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import call
from ostinato.tools import LongRunningFunctionTool
from ostinato.types import Content, FunctionResponse, Part
from tests.approvals.kit import NAMES, PLACE, Desk, decide
from tests.support.databases import SERVERS

_SERVERS = [pytest.param(name, marks=pytest.mark.service) for name in SERVERS]
shared = pytest.mark.parametrize("store", ["file", "sql file", *_SERVERS], indirect=True)


def make_sql_service(path: Path) -> DatabaseSessionService:
    return DatabaseSessionService(f"sqlite+aiosqlite:///{path}")


def do_while_rewound(
    monkeypatch: pytest.MonkeyPatch, store: Any, act: Callable[[], Awaitable[object]]
) -> None:
    """Act once while a rewind holds the session and has written nothing."""
    found, acted = store.initial_state, list[bool]()

    async def act_first(session: Any) -> Any:
        if not acted:
            acted.append(True)
            await act()
        return await found(session)

    monkeypatch.setattr(store, "initial_state", act_first)


def read_words(desk: Desk) -> str:
    """Return what the desk's model read last."""
    return str(desk.model.requests[-1].contents)


@shared
async def test_a_rewind_is_refused_if_an_answer_to_a_call_it_hides_was_accepted_meanwhile(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(store)
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id
    answer = decide(request)
    answer.parts = [*(answer.parts or ()), Part(text="It is for the rent.")]
    do_while_rewound(monkeypatch, store, lambda: desk.runner.submit(**PLACE, new_message=answer))
    with pytest.raises(SessionBusyError, match="answers call"):
        await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)
    await desk.runner.resume_open()
    assert desk.paid == [5]
    assert "It is for the rent." in read_words(desk)


@shared
async def test_a_rewind_is_refused_if_a_result_of_a_call_it_hides_was_accepted_meanwhile(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def order() -> None:
        """Order."""

    tools = [LongRunningFunctionTool(order)]
    desk = Desk(store, call("order"), "Ordered.", "Delivered.", tools=tools)
    asked = [one for event in await desk.say() for one in event.get_function_calls()]
    asking = (await desk.events())[-1].invocation_id
    given = FunctionResponse(id=asked[0].id, name="order", response={"state": "delivered"})
    result = Content(role="user", parts=[Part(function_response=given)])
    do_while_rewound(monkeypatch, store, lambda: desk.runner.submit(**PLACE, new_message=result))
    with pytest.raises(SessionBusyError, match="answers call"):
        await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)
    await desk.runner.resume_open()
    assert "delivered" in read_words(desk)


async def test_an_answer_that_waits_behind_a_rewind_has_it_refused(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(store)
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id
    waiting: list[asyncio.Task[Any]] = []
    claimed = asyncio.Event()

    async def answer() -> None:
        waiting.append(asyncio.create_task(desk.outcome(decide(request))))
        await claimed.wait()

    for name in ("put_message", "claim_answers"):
        monkeypatch.setattr(store, name, note_end(getattr(store, name), claimed))
    do_while_rewound(monkeypatch, store, answer)
    with pytest.raises(SessionBusyError, match="answers call"):
        await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)
    assert isinstance(await waiting[0], list)
    assert desk.paid == [5]


def note_end(method: Any, ended: asyncio.Event) -> Any:
    """Return a method that notes when it has returned."""

    async def run(*args: Any) -> Any:
        try:
            return await method(*args)
        finally:
            ended.set()

    return run


@shared
async def test_words_that_come_during_a_rewind_are_the_next_message_after_it(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(store, "First.", "Second.")
    said = await desk.say("Hello.")
    do_while_rewound(
        monkeypatch, store, lambda: desk.runner.submit(**PLACE, new_message="And then?")
    )
    await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=said[0].invocation_id)
    await desk.runner.resume_open()
    assert "And then?" in read_words(desk) and "Hello." not in read_words(desk)


async def test_append_event_refuses_an_answer_to_a_call_that_a_rewind_hides(desk: Desk) -> None:
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id
    before = await desk.service.get_session(**NAMES)
    await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)
    stored = await desk.events()
    for invocation_id in (asking, "e-own"):
        for session in (await desk.service.get_session(**NAMES), before):
            event = Event(author="user", invocation_id=invocation_id, content=decide(request))
            with pytest.raises(RequestWithdrawnError, match="rewound"):
                await desk.service.append_event(session, event)
    assert [one.id for one in await desk.events()] == [one.id for one in stored]


@pytest.mark.parametrize("kind", [SqliteSessionService, make_sql_service])
async def test_an_answer_is_checked_again_if_a_rewind_elsewhere_ends_before_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Callable[[Path], Any]
) -> None:
    """The other process has the session when the run claims it, and ends before it enqueues."""
    store, other = kind(tmp_path / "s.db"), kind(tmp_path / "s.db")
    desk, elsewhere = Desk(store), Desk(other)
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id
    await store.flush()
    held, gate = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        held.set()
        await gate.wait()

    do_while_rewound(monkeypatch, other, hold)
    rewinds: list[asyncio.Task[None]] = []
    append, put = store.append, store.put_message

    async def claim(*args: Any) -> Any:
        if not rewinds:
            run = elsewhere.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)
            rewinds.append(asyncio.create_task(run))
            await held.wait()
        return await append(*args)

    async def enqueue(*args: Any) -> Any:
        gate.set()
        await rewinds[0]
        return await put(*args)

    monkeypatch.setattr(store, "append", claim)
    monkeypatch.setattr(store, "put_message", enqueue)
    outcome = await desk.outcome(decide(request))
    assert isinstance(outcome, RequestWithdrawnError)
    assert desk.paid == [] and await store.waiting_places("desk") == []
    await store.close()
    await other.close()
