"""A session changes between the check of an answer and the transaction that accepts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from ostinato import types
from ostinato.apps import App, ResumabilityConfig
from ostinato.errors import (
    CallAlreadyAnsweredError,
    RequestWithdrawnError,
    StaleSessionError,
)
from ostinato.events import Event
from ostinato.events.event import NodeInfo
from ostinato.execution.routing.answers import read_answers
from ostinato.execution.store_access import StoreAccess
from ostinato.runners import Runner
from ostinato.sessions.session import log_of
from ostinato.sessions.store.durable_store import CallChanges, InboxMessage, Place
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow
from ostinato.workflow.node_errors import ToolNotRunError
from tests.approvals.kit import NAMES, PLACE, Desk, decide
from tests.support.databases import SERVERS

DESK = Place("desk", "ann", "one")
_SERVERS = [pytest.param(name, marks=pytest.mark.service) for name in SERVERS]
_NAMES = ["file", "sql file", *_SERVERS]
shared = pytest.mark.parametrize("store", _NAMES, indirect=True)  # what `submit` needs


class Till:
    """A graph whose tool asks before it pays, and raises when it does."""

    def __init__(self, store: Any) -> None:
        self.paid: list[int] = []

        def prepare(node_input: str) -> dict[str, int]:
            return {"amount": 5}

        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            raise RuntimeError("no cash")

        graph = Workflow(
            name="till", edges=[(START, prepare, FunctionTool(pay, require_confirmation=True))]
        )
        config = ResumabilityConfig(is_resumable=True)
        app = App(name="desk", root_agent=graph, resumability_config=config)
        self.runner = Runner(app=app, session_service=store, auto_create_session=True)

    async def say(self, message: Any) -> list[Event]:
        return [one async for one in self.runner.run_async(**PLACE, new_message=message)]

    async def ask(self) -> types.FunctionCall:
        """Have the tool's node ask; return its question."""
        events = await self.say("Pay.")
        return [one for e in events for one in e.get_function_calls()][-1]

    async def answer(self, question: types.FunctionCall, is_approved: bool) -> None:
        """Give an answer with which the graph fails."""
        error = RuntimeError if is_approved else ToolNotRunError
        with pytest.raises(error):
            await self.say(reply(question, is_approved))


def reply(question: types.FunctionCall, result: Any) -> types.Content:
    response = types.FunctionResponse(
        id=question.id, name=question.name, response={"result": result}
    )
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def do_before_put(
    monkeypatch: pytest.MonkeyPatch, store: Any, act: Callable[[], Awaitable[None]]
) -> None:
    """Have something happen just before the next message is put into the inbox."""
    put = type(store).put_message
    done: list[bool] = []

    async def put_later(self: Any, *args: Any) -> bool:
        if not done:
            done.append(True)
            await act()
        return await put(self, *args)

    monkeypatch.setattr(type(store), "put_message", put_later)


async def is_quiet(store: Any) -> bool:
    """Return whether no message and no request waits."""
    return not await store.messages(DESK) and not (await store.open_requests("desk")).requests


@shared
@pytest.mark.parametrize("is_approved", [False, True], ids=["rejected", "raises"])
async def test_a_second_answer_is_refused_though_the_first_one_failed_its_graph(
    store: Any, monkeypatch: pytest.MonkeyPatch, is_approved: bool
) -> None:
    till = Till(store)
    question = await till.ask()
    do_before_put(monkeypatch, store, lambda: till.answer(question, is_approved))
    with pytest.raises(CallAlreadyAnsweredError) as refused:
        await till.runner.submit(**PLACE, new_message=reply(question, True))
    assert refused.value.answer == {"result": is_approved}
    assert till.paid == [5] * is_approved
    assert await is_quiet(store)


async def test_a_stored_event_answers_no_call_again_whose_graph_has_failed(store: Any) -> None:
    till = Till(store)
    question = await till.ask()
    session = await store.get_session(**NAMES)
    await till.answer(question, False)
    asking = session.events[-1].invocation_id
    again = Event(author="user", invocation_id=asking, content=reply(question, True))
    with pytest.raises(CallAlreadyAnsweredError):
        await store.append_event(session, again)
    stored = await store.get_session(**NAMES)
    assert again.id not in [one.id for one in stored.events]


@shared
async def test_an_answer_is_refused_whose_node_fails_before_it_is_accepted(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    till = Till(store)
    question = await till.ask()

    async def fail_node() -> None:
        session = await store.get_session(**NAMES)
        asking = next(one for one in session.events if one.long_running_tool_ids)
        path = NodeInfo(path=asking.node_info.path)
        failed = Event(
            author="till", invocation_id=asking.invocation_id, node_info=path, error_code="E"
        )
        await StoreAccess(store).commit(session, [failed])

    do_before_put(monkeypatch, store, fail_node)
    with pytest.raises(RequestWithdrawnError):
        await till.runner.submit(**PLACE, new_message=reply(question, True))
    assert till.paid == [] and await is_quiet(store)


@shared
@pytest.mark.parametrize("key", [None, "k"])
async def test_an_answer_is_refused_whose_request_is_rewound_before_it_is_accepted(
    store: Any, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    desk = Desk(store)
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id

    async def rewind() -> None:
        await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=asking)

    do_before_put(monkeypatch, store, rewind)
    with pytest.raises(RequestWithdrawnError):
        await desk.runner.submit(**PLACE, new_message=decide(request), idempotency_key=key)
    assert desk.paid == [] and await is_quiet(store)


async def test_a_call_without_a_row_is_claimed_only_in_the_session_that_was_checked(
    store: Any,
) -> None:
    desk = Desk(store)
    request = await desk.ask()
    session = await store.get_session(**NAMES)
    (answer,) = read_answers(log_of(session), decide(request), "e-1")
    await store.append(session, (), changes=CallChanges(withdrawn=[answer.call_id]))
    await store.append_event(session, Event(author="user"))
    note = Event(author="user")
    with pytest.raises(StaleSessionError):
        await store.put_message(DESK, InboxMessage("e-1", "", "", "{}"), 0.0, [answer])
    with pytest.raises(StaleSessionError):
        await store.claim_answers(DESK, [answer])
    with pytest.raises(StaleSessionError):
        await store.append(session, [note], changes=CallChanges(answers=[answer]))
    assert await is_quiet(store)
    assert note.id not in [one.id for one in await desk.events()]
    checked = replace(answer, seen=answer.seen + 1)
    await store.put_message(DESK, InboxMessage("e-1", "", "", "{}"), 0.0, [checked])
    with pytest.raises(CallAlreadyAnsweredError):
        await store.claim_answers(DESK, [replace(checked, message_id="e-2")])
