"""How a run that ended early is left: every call answered, the error on record."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.context.invocation import InvocationContext
from ostinato.context.services import RunServices
from ostinato.durable.journal import Journal
from ostinato.errors import InputValidationError
from ostinato.events import Event, EventActions
from ostinato.execution.recovery.closing import error_event, seal, sealing_events
from ostinato.execution.store_access import StoreAccess
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.log.resume import RERUN
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import JournalRow, Place
from ostinato.testing import ScriptedModel

CANCELLED = "The call was cancelled before it finished; its outcome is unknown."


def result(response: str, again: list[str]) -> str:
    """The text of a journal row."""
    return f'{{"response": {response}, "actions": {{}}, "rerun": {json.dumps(again)}}}'


async def run_with(*events: Event, service: Any = None) -> tuple[InvocationContext, StoreAccess]:
    """A run whose log holds these events."""
    service = service or InMemorySessionService()
    store = StoreAccess(service)
    await service.create_session(app_name="app", user_id="user", session_id="s")
    session = await store.load(Place("app", "user", "s"))
    await store.commit(session, events)
    commit: Any = partial(store.commit, session)
    ctx = InvocationContext(
        session_service=service,
        invocation_id="e-1",
        agent=LlmAgent(name="clerk", model=ScriptedModel()),
        session=session,
        branch="root.clerk",
        services=RunServices(commit=commit),
    )
    return ctx, store


def asks(*ids: str, author: str = "clerk", **fields: Any) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name=f"do_{i}")) for i in ids]
    content = types.Content(role="model", parts=parts)
    return Event(author=author, invocation_id="e-1", content=content, **fields)


def gives(call_id: str, response: Any, **fields: Any) -> Event:
    answer = types.FunctionResponse(id=call_id, name=f"do_{call_id}", response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    return Event(author="clerk", invocation_id="e-1", content=content, **fields)


def given(event: Event) -> list[tuple[Any, Any, Any]]:
    return [(r.id, r.name, r.response) for r in event.get_function_responses()]


@pytest.mark.spec(29)
async def test_open_calls_are_answered_by_event_with_author_and_branch_of_the_call() -> None:
    ctx, _ = await run_with(
        asks("a", "b", branch="root"), asks("c", author="other", branch="root.other")
    )
    first, second = sealing_events(ctx, ValueError("broken"))
    error = {"error": "ValueError: broken"}
    assert given(first) == [("a", "do_a", error), ("b", "do_b", error)]
    assert given(second) == [("c", "do_c", error)]
    assert (first.author, first.branch, first.invocation_id) == ("clerk", "root", "e-1")
    assert (second.author, second.branch) == ("other", "root.other")
    assert second.invocation_id == "e-1"
    assert second.content is not None and second.content.role == "user"


@pytest.mark.spec(29)
@pytest.mark.parametrize("cause", [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()])
async def test_a_call_that_was_cancelled_is_answered_as_unknown(cause: BaseException) -> None:
    ctx, _ = await run_with(asks("a"))
    (event,) = sealing_events(ctx, cause)
    assert given(event) == [("a", "do_a", {"error": CANCELLED})]


@pytest.mark.spec(29, 136)
async def test_a_long_running_call_stays_open() -> None:
    ctx, _ = await run_with(asks("a", "b", long_running_tool_ids={"a"}))
    (event,) = sealing_events(ctx, ValueError())
    assert [i for i, _, _ in given(event)] == ["b"]


@pytest.mark.spec(29)
async def test_a_call_that_had_ended_keeps_its_result_and_effects() -> None:
    ctx, _ = await run_with(asks("a", "b"))
    done = gives("a", {"n": 1}, actions=EventActions(state_delta={"done": True}))
    ctx.run_state.finished_responses["a"] = done
    await seal(ctx, ValueError("broken"))
    stored = ctx.session.events[-1]
    assert given(stored) == [
        ("a", "do_a", {"n": 1}),
        ("b", "do_b", {"error": "ValueError: broken"}),
    ]
    assert ctx.session.state["done"] is True
    assert sealing_events(ctx, ValueError()) == []


async def test_calls_that_ran_again_are_told_whatever_came_of_them() -> None:
    ctx, _ = await run_with(asks("ended", "cut", "before", "new"))
    ctx.run_state.finished_responses["ended"] = gives("ended", {"n": 1})
    ctx.run_state.repeated_call_ids.update(ended=["ended"], cut=["cut"])
    row = JournalRow("e-1", "before", "finished", "do_before", result('{"n": 2}', ["before"]))
    ctx.run_state.journal = Journal("e-1", [row], ctx.log)
    (event,) = sealing_events(ctx, asyncio.CancelledError())
    assert [response for _, _, response in given(event)] == [
        {"n": 1},
        {"error": CANCELLED},
        {"n": 2},
        {"error": CANCELLED},
    ]
    assert event.custom_metadata == {RERUN: ["before", "ended", "cut"]}


async def test_a_call_that_was_in_doubt_and_not_begun_again_is_told() -> None:
    ctx, _ = await run_with(asks("a"))
    ctx.run_state.journal = Journal("e-1", [JournalRow("e-1", "a", "started", "do_a")], ctx.log)
    (event,) = sealing_events(ctx, asyncio.CancelledError())
    assert event.custom_metadata == {RERUN: ["a"]}


async def test_a_long_running_call_that_stays_open_and_ran_again_is_told_once() -> None:
    ctx, store = await run_with(asks("a", "b", long_running_tool_ids={"a", "b"}))
    ctx.run_state.repeated_call_ids.update(a=["a"])
    (event,) = sealing_events(ctx, asyncio.CancelledError())
    assert (event.content, event.custom_metadata) == (None, {RERUN: ["a"]})
    assert (event.author, event.invocation_id) == ("clerk", "e-1")
    await store.commit(ctx.session, (event,))
    assert sealing_events(ctx, asyncio.CancelledError()) == []


@pytest.mark.spec(29)
async def test_a_result_that_cannot_be_stored_gives_way_to_the_error(tmp_path: Path) -> None:
    service = SqliteSessionService(tmp_path / "sessions.db", synchronous="NORMAL")
    ctx, _ = await run_with(asks("a"), service=service)
    bad = gives("a", {}, actions=EventActions(state_delta={"bad": object()}))
    ctx.run_state.finished_responses["a"] = bad
    await seal(ctx, InputValidationError("no JSON"))
    assert ctx.run_state.finished_responses == {}
    assert given(ctx.session.events[-1]) == [
        ("a", "do_a", {"error": "InputValidationError: no JSON"})
    ]
    await service.close()


@pytest.mark.spec(29)
async def test_the_error_is_on_record_with_agent_and_branch() -> None:
    ctx, _ = await run_with()
    event = error_event(ctx, LookupError("nobody here"))
    assert (event.error_code, event.error_message) == ("LookupError", "nobody here")
    assert (event.author, event.branch, event.invocation_id) == ("clerk", "root.clerk", "e-1")
