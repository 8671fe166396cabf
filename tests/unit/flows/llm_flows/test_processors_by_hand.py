"""Processors that a test calls itself, with a context and a session that it has made."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock

import pytest

from ostinato import types
from ostinato.agents import InvocationContext, LlmAgent, RunConfig
from ostinato.agents.readonly_context import ReadonlyContext
from ostinato.apps import EventsCompactionConfig
from ostinato.apps.llm_event_summarizer import LlmEventSummarizer
from ostinato.events import Event
from ostinato.flows.llm_flows.compaction import CompactionRequestProcessor
from ostinato.flows.llm_flows.request_confirmation import request_processor
from ostinato.models import LlmRequest, LlmResponse
from ostinato.sessions import InMemorySessionService, Session
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.testing import ScriptedModel
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset

USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=11, total_token_count=14)


def summarizer() -> LlmEventSummarizer:
    said = types.Content(role="model", parts=[types.Part(text="summary")])
    model = ScriptedModel([LlmResponse(content=said, usage_metadata=USAGE)])
    return LlmEventSummarizer(llm=model)


def event(author: str, *parts: types.Part, at: float = 1.0, tokens: int | None = None) -> Event:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
    return Event(
        author=author,
        invocation_id="i1",
        timestamp=at,
        content=types.Content(role="user" if author == "user" else "model", parts=list(parts)),
        usage_metadata=usage if tokens else None,
    )


def talk_of_two() -> list[Event]:
    texts = [types.Part(text=text) for text in "abcd"]
    return [
        event("user", texts[0], at=1.0),
        event("clerk", texts[1], at=2.0, tokens=100),
        event("user", texts[2], at=3.0),
        event("clerk", texts[3], at=4.0, tokens=200),
    ]


def context(session: Session, service: Any, agent: LlmAgent, **fields: Any) -> InvocationContext:
    return InvocationContext(
        invocation_id="i1",
        agent=agent,
        session=session,
        session_service=service,
        run_config=RunConfig(),
        **fields,
    )


def session_of(events: list[Event]) -> Session:
    return Session(app_name="app", user_id="ann", id="s", events=events)


async def compacted(service: Any, session: Session, threshold: int) -> InvocationContext:
    config = EventsCompactionConfig(
        compaction_interval=100,
        overlap_size=0,
        token_threshold=threshold,
        event_retention_size=1,
        summarizer=summarizer(),
    )
    agent = LlmAgent(name="clerk", model=ScriptedModel([]))
    ctx = context(session, service, agent, events_compaction_config=config)
    assert [e async for e in CompactionRequestProcessor().run_async(ctx, LlmRequest())] == []
    return ctx


async def test_a_compaction_goes_to_the_session_service_of_the_context() -> None:
    service = AsyncMock(spec=BaseSessionService)
    session = session_of(talk_of_two())
    ctx = await compacted(service, session, 150)
    assert ctx.token_compaction_checked
    (call,) = service.append_event.call_args_list
    assert call.kwargs["session"] is session
    compaction = call.kwargs["event"].actions.compaction
    assert (compaction.start_timestamp, compaction.end_timestamp) == (1.0, 3.0)
    assert call.kwargs["event"].usage_metadata == USAGE


async def test_a_compaction_that_is_not_due_may_be_due_later_in_the_run() -> None:
    service = AsyncMock(spec=BaseSessionService)
    ctx = await compacted(service, session_of(talk_of_two()), 1500)
    assert not ctx.token_compaction_checked and not service.append_event.called


async def test_a_compaction_is_stored() -> None:
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="ann", session_id="s")
    for one in talk_of_two():
        await service.append_event(session, one)
    await compacted(service, session, 150)
    stored = await service.get_session(app_name="app", user_id="ann", session_id="s")
    assert stored is not None and len(stored.events) == 5
    assert stored.events[-1].actions.compaction is not None


ORIGINAL = types.FunctionCall(id="orig", name="pay", args={"amount": 3})
ASKS = types.Part(
    function_call=types.FunctionCall(
        id="conf",
        name="adk_request_confirmation",
        args={
            "originalFunctionCall": {"id": "orig", "name": "pay", "args": {"amount": 3}},
            "toolConfirmation": {"hint": "", "confirmed": False},
        },
    )
)


def answers(confirmed: bool) -> types.Part:
    given = types.FunctionResponse(
        id="conf", name="adk_request_confirmation", response={"confirmed": confirmed}
    )
    return types.Part(function_response=given)


def responds(name: str, call_id: str, **response: Any) -> types.Part:
    given = types.FunctionResponse(id=call_id, name=name, response=response)
    return types.Part(function_response=given)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event("agent", ASKS), event("user", answers(True))], [{"paid": 3}]),
        (
            [
                event("clerk", types.Part(function_call=ORIGINAL)),
                event("clerk", ASKS),
                event("user", answers(False)),
            ],
            [{"error": "This tool call is rejected."}],
        ),
        (
            [
                event("clerk", ASKS),
                event("user", answers(True)),
                event("clerk", responds("pay", "orig", paid=3)),
            ],
            [],
        ),
        (
            [
                event("clerk", ASKS),
                event("user", answers(True)),
                event("user", types.Part(text="words")),
            ],
            [],
        ),
        ([event("user", answers(True))], []),
        ([], []),
    ],
    ids=["yes", "no", "ran already", "words since", "no request", "empty"],
)
async def test_a_confirmed_tool_runs(events: list[Event], expected: list[Any]) -> None:
    def pay(amount: int) -> dict[str, int]:
        return {"paid": amount}

    tool = FunctionTool(pay, require_confirmation=True)
    agent = LlmAgent(name="clerk", model=ScriptedModel([]), tools=[tool])
    ctx = context(session_of(events), InMemorySessionService(), agent)
    yielded = [e async for e in request_processor.run_async(ctx, LlmRequest())]
    assert [r.response for e in yielded for r in e.get_function_responses()] == expected
    assert all((e.author, e.get_function_responses()[0].id) == ("clerk", "orig") for e in yielded)


async def test_an_approved_call_waits_for_a_toolset_that_is_down() -> None:
    class Till(BaseToolset):
        async def get_tools(
            self, readonly_context: ReadonlyContext | None = None
        ) -> list[BaseTool]:
            raise ConnectionError("the till is down")

    agent = LlmAgent(name="clerk", model=ScriptedModel([]), tools=[Till()])
    events = [event("clerk", ASKS), event("user", answers(True))]
    ctx = context(session_of(events), InMemorySessionService(), agent)
    with pytest.raises(ConnectionError, match="the till is down"):
        _ = [e async for e in request_processor.run_async(ctx, LlmRequest())]
