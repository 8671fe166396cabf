"""Going on over a new connection with the handle of the session (Spec 1 §17)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent, RunConfig
from ostinato.errors import ModelAuthError, ModelConnectionError
from ostinato.flows.llm_flows.live import live_connection as _live_line
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import (
    DONE,
    GO_AWAY,
    HEARD,
    LiveModel,
    call,
    calls,
    converse,
    handle,
    lines,
    said,
    text,
)

BROKEN = ModelConnectionError("The connection broke.", model="live")


def resumed() -> RunConfig:
    return RunConfig(session_resumption=types.SessionResumptionConfig())


def started(model: Any, store: Store, *words: str) -> tuple[Talk, LiveRequestQueue]:
    queue = LiveRequestQueue()
    for word in words:
        queue.send_content(said(word))
    return Talk(LlmAgent(name="root", model=model), store), queue


def handles(model: LiveModel) -> list[str | None]:
    configs = [request.live_connect_config.session_resumption for request in model.requests]
    return [config.handle if config is not None else None for config in configs]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_live_line, "FIRST_PAUSE", 0)


@pytest.mark.spec(203)
@pytest.mark.parametrize("end", [None, BROKEN])
async def test_a_connection_that_ends_is_opened_again_with_the_handle(
    end: Any, store: Store
) -> None:
    def more() -> None:
        queue.send_content(said("More"))

    model = LiveModel(
        [HEARD, handle("H1"), handle("H2"), text("a", False), DONE, end],
        [more, HEARD, text("b", False), DONE],
    )
    talk, queue = started(model, store, "Hi")
    config = resumed()
    events = await converse(
        talk, queue, config, until=lambda e: e.turn_complete and len(model.connections) == 2
    )
    assert lines(events) == [
        "root handle:H1",
        "root handle:H2",
        "root a",
        "root turn_complete",
        "root b",
        "root turn_complete",
    ]
    assert handles(model) == [None, "H2"]
    assert [connection.history for connection in model.connections] == [None, None]
    assert model.connections[1].texts == ["More"]
    assert config.session_resumption is not None and config.session_resumption.handle is None
    assert "user More" in lines(await talk.stored())


async def test_go_away_is_followed_at_once_between_turns(memory: Store) -> None:
    model = LiveModel([HEARD, handle("H"), text("a", False), DONE, GO_AWAY], [text("b"), DONE])
    talk, queue = started(model, memory, "Hi")
    events = await converse(
        talk, queue, resumed(), until=lambda e: e.turn_complete and len(model.connections) == 2
    )
    assert lines(events)[-2:] == ["root b", "root turn_complete"]
    assert model.connections[0].closed


async def test_go_away_lets_the_model_finish_its_turn(memory: Store) -> None:
    model = LiveModel(
        [HEARD, handle("H"), text("a", True), GO_AWAY, text("b", True), text("ab", False), DONE],
        [text("c"), DONE],
    )
    talk, queue = started(model, memory, "Hi")
    events = await converse(
        talk, queue, resumed(), until=lambda e: e.turn_complete and len(model.connections) == 2
    )
    assert lines(events) == [
        "root handle:H",
        "~root a",
        "~root b",
        "root ab",
        "root turn_complete",
        "root c",
        "root turn_complete",
    ]


async def test_a_handle_that_cannot_be_resumed_is_not_kept(memory: Store) -> None:
    update = types.LiveServerSessionResumptionUpdate(new_handle="bad", resumable=False)
    not_now = handle("x").model_copy(update={"live_session_resumption_update": update})
    model = LiveModel([HEARD, handle("H"), not_now, BROKEN], [text("b"), DONE])
    talk, queue = started(model, memory, "Hi")
    await converse(talk, queue, resumed())
    assert handles(model) == [None, "H"]


async def test_without_a_handle_a_closed_connection_is_an_error(store: Store) -> None:
    model = LiveModel([HEARD, text("a", True), None])
    talk, queue = started(model, store, "Hi")
    with pytest.raises(ModelConnectionError, match="run_live again"):
        await converse(talk, queue)
    assert lines(await talk.stored()) == ["user Hi", "root error:ModelConnectionError"]


async def test_it_is_tried_a_few_times_only(memory: Store) -> None:
    model = LiveModel([HEARD, handle("H"), BROKEN], *[[BROKEN] for _ in range(20)])
    talk, queue = started(model, memory, "Hi")
    with pytest.raises(ModelConnectionError):
        await converse(talk, queue, resumed())
    assert len(model.requests) == 1 + _live_line.MAX_RECONNECTS


async def test_a_refused_key_is_not_tried_again(memory: Store) -> None:
    refused = ModelAuthError("The key was refused.", model="live")
    model = LiveModel([HEARD, handle("H"), refused])
    talk, queue = started(model, memory, "Hi")
    with pytest.raises(ModelAuthError):
        await converse(talk, queue, resumed())
    assert len(model.requests) == 1


async def test_a_run_goes_on_with_a_handle_of_an_earlier_one(memory: Store) -> None:
    model = LiveModel([HEARD, text("a"), DONE], [HEARD, text("b"), DONE])
    talk, queue = started(model, memory, "Hi")
    await converse(talk, queue)
    queue = LiveRequestQueue()
    queue.send_content(said("More"))
    known = types.SessionResumptionConfig(handle="kept")
    await converse(talk, queue, RunConfig(session_resumption=known))
    assert handles(model) == [None, "kept"]
    assert model.connections[1].history is None


async def test_another_agent_begins_a_session_of_its_own(memory: Store) -> None:
    model = LiveModel(
        [HEARD, handle("H"), calls(call("transfer_to_agent", "a", agent_name="sub")), HEARD],
        [text("b"), DONE],
    )
    sub = LlmAgent(name="sub", model=model)
    talk, queue = started(model, memory, "Hi")
    talk = Talk(LlmAgent(name="root", model=model, sub_agents=[sub]), memory)
    await converse(talk, queue, resumed())
    assert handles(model) == [None, None]
    assert model.connections[1].history is not None


async def test_a_tool_answers_over_the_next_connection(memory: Store) -> None:

    again = asyncio.Event()

    async def look() -> str:
        await again.wait()
        return "ok"

    model = LiveModel(
        [HEARD, handle("H"), calls(call("look", "a")), BROKEN],
        [again.set, HEARD, text("b"), DONE],
    )
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    talk = Talk(LlmAgent(name="root", model=model, tools=[look]), memory)
    await converse(talk, queue, resumed())
    assert model.connections[1].texts == ["look={'result': 'ok'}"]
