"""Tools during a live stream: calls, cancellation, streaming tools, transfers (Spec 1 §17)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent, RunConfig, SequentialAgent
from ostinato.agents.run_config import ToolThreadPoolConfig
from ostinato.errors import AgentConfigError
from ostinato.events import Event
from ostinato.testing import ScriptedModel
from ostinato.testing import call as scripted_call
from ostinato.tools import FunctionTool
from ostinato.tools.long_running_tool import LongRunningFunctionTool
from tests.support.optionals import present
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import (
    DONE,
    HEARD,
    LiveModel,
    call,
    calls,
    converse,
    lines,
    said,
    sound,
    taken_back,
    text,
)

FRAME = types.Blob(data=b"jpg", mime_type="image/jpeg")


def started(root: Any, store: Store) -> tuple[Talk, LiveRequestQueue]:
    """A talk, and a queue in which the user has said Hi."""
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    return Talk(root, store), queue


def agent(model: LiveModel, *tools: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=model, tools=[*tools], **fields)


@pytest.mark.spec(203, 204)
async def test_tools_run_while_the_model_goes_on_speaking(store: Store) -> None:
    spoken = asyncio.Event()

    async def look(x: int) -> str:
        await spoken.wait()
        return f"s{x}"

    model = LiveModel(
        [
            HEARD,
            calls(call("look", "a", x=1), call("look", "b", x=2)),
            text("Let me", True),
            text("see", True),
            spoken.set,
            HEARD,
            HEARD,
            text("Done", False),
            DONE,
        ]
    )
    talk, queue = started(agent(model, look), store)
    events = await converse(talk, queue)
    assert lines(events) == [
        "root look(a) look(b)",
        "~root Let me",
        "~root see",
        "root look={'result': 's1'}",
        "root look={'result': 's2'}",
        "root Done",
        "root turn_complete",
    ]
    stored = [line for line in lines(events) if not line.startswith("~")]
    assert lines(await talk.stored()) == ["user Hi", *stored]
    assert model.connections[0].texts == ["Hi", "look={'result': 's1'}", "look={'result': 's2'}"]
    assert model.connections[0].sent[1].role == "user"


async def test_a_call_begins_only_when_its_event_is_stored(memory: Store) -> None:
    """The log holds the call before its tool runs, and the answer before the model gets it."""
    seen: list[list[str]] = []

    async def look() -> str:
        seen.append(lines(await talk.stored()))
        return "ok"

    model = LiveModel([HEARD, calls(call("look", "a")), HEARD, DONE])
    talk, queue = started(agent(model, look), memory)
    await converse(talk, queue)
    assert seen == [["user Hi", "root look(a)"]]


@pytest.mark.spec(205)
async def test_plain_functions_run_in_the_threads_that_the_config_allows(memory: Store) -> None:
    names: set[str] = set()
    gate = threading.Barrier(2, timeout=60)  # both calls run at once, or it breaks

    def look() -> str:
        names.add(threading.current_thread().name)
        gate.wait()
        return "ok"

    model = LiveModel(
        [HEARD, calls(call("look", "a"), call("look", "b")), sound(b"x"), HEARD, HEARD, DONE]
    )
    talk, queue = started(agent(model, look), memory)
    pool = ToolThreadPoolConfig(max_workers=2)
    config = RunConfig(tool_thread_pool_config=pool, sync_tools="inline")
    events = await converse(talk, queue, config)
    assert names == {"ostinato-tool"}
    assert lines(events)[:2] == ["root look(a) look(b)", "root sound"]


async def test_responses_name_the_live_session_of_their_calls(store: Store) -> None:
    async def look() -> str:
        return "ok"

    async def wait() -> None:
        await asyncio.Event().wait()

    asked = calls(call("look", "a"), call("look", "b"), call("wait", "c"))
    asked.live_session_id = "live-1"
    model = LiveModel([HEARD, asked, HEARD, HEARD, taken_back("c"), DONE])
    talk, queue = started(agent(model, look, wait), store)
    await converse(talk, queue)
    answered = [e for e in await talk.stored() if e.get_function_responses()]
    assert [e.live_session_id for e in answered] == ["live-1"] * 3


async def test_a_call_that_the_model_takes_back_is_cancelled_and_answered(store: Store) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def look() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    model = LiveModel(
        [HEARD, calls(call("look", "a")), begun, taken_back("a", "unknown"), ended, DONE]
    )
    talk, queue = started(agent(model, look), store)
    events = await converse(talk, queue)
    assert any("cancelled the call" in line for line in lines(events))
    stored = lines(await talk.stored())
    assert stored[:2] == ["user Hi", "root look(a)"]
    assert sum("look={'error'" in line for line in stored) == 1
    assert model.connections[0].texts == ["Hi"]


async def test_closing_while_a_tool_runs_answers_its_call(store: Store) -> None:
    async def look() -> str:
        queue.close()
        await asyncio.Event().wait()
        return "never"

    model = LiveModel([HEARD, calls(call("look", "a"))])
    talk, queue = started(agent(model, look), store)
    await converse(talk, queue)
    assert lines(await talk.stored()) == [
        "user Hi",
        "root look(a)",
        "root look={'error': 'The call was cancelled before it finished; its outcome is unknown.'}",
    ]


async def test_a_raising_tool_ends_the_run_with_its_call_answered(store: Store) -> None:
    def look() -> str:
        raise ValueError("bad")

    model = LiveModel([HEARD, calls(call("look", "a")), HEARD, DONE])
    talk, queue = started(agent(model, look), store)
    with pytest.raises(ValueError, match="bad"):
        await converse(talk, queue)
    assert lines(await talk.stored()) == [
        "user Hi",
        "root look(a)",
        "root look={'error': 'ValueError: bad'}",
        "root error:ValueError",
    ]


async def test_feedback_tells_the_model_of_a_tools_error(memory: Store) -> None:
    def look() -> str:
        raise ValueError("bad")

    model = LiveModel([HEARD, calls(call("look", "a")), HEARD, text("Sorry", False), DONE])
    talk, queue = started(agent(model, look), memory)
    await converse(talk, queue, RunConfig(tool_errors="feedback"))
    assert model.connections[0].texts[1] == "look={'error': 'ValueError: bad'}"


async def test_an_unknown_tool_is_answered(memory: Store) -> None:
    model = LiveModel([HEARD, calls(call("nope", "a")), HEARD, DONE])
    talk, queue = started(agent(model), memory)
    await converse(talk, queue)
    assert "no tool with that name" in model.connections[0].texts[1]


async def test_calls_without_ids_get_some(memory: Store) -> None:
    part = types.Part(function_call=types.FunctionCall(name="look", args={}))
    model = LiveModel([HEARD, calls(part), HEARD, DONE])
    talk, queue = started(agent(model, lambda_tool("look")), memory)
    events = await converse(talk, queue)
    asked, answered = events[0].get_function_calls()[0], events[1].get_function_responses()[0]
    assert asked.id and asked.id == answered.id


def lambda_tool(name: str) -> FunctionTool:
    def tool() -> str:
        """A tool."""
        return "ok"

    tool.__name__ = name
    return FunctionTool(tool)


async def test_a_streaming_tool_tells_the_model_each_result(store: Store) -> None:
    """The function's results become messages, which are stored and not yielded."""

    async def watch(symbol: str) -> AsyncGenerator[str, None]:
        """Watch a price."""
        for price in (300, 400):
            yield f"{symbol} is {price}"

    model = LiveModel(
        [
            HEARD,
            calls(call("watch", "a", symbol="X")),
            HEARD,
            HEARD,
            text("300", False),
            HEARD,
            text("400", False),
            DONE,
        ]
    )
    talk, queue = started(agent(model, watch), store)
    events = await converse(talk, queue)
    assert lines(events) == [
        "root watch(a)",
        "root watch={'status': 'The function is running asynchronously and the results are "
        "pending.'}",
        "root 300",
        "root 400",
        "root turn_complete",
    ]
    assert sorted(model.connections[0].texts[2:]) == [
        "Function watch returned: X is 300",
        "Function watch returned: X is 400",
    ]
    stored = lines(await talk.stored())
    assert {"user Function watch returned: X is 300", "root 400"} <= {*stored}


async def test_a_video_tool_gets_the_users_stream_until_it_is_stopped(memory: Store) -> None:
    got: list[str] = []
    ended = asyncio.Event()

    async def watch(input_stream: LiveRequestQueue) -> AsyncGenerator[str, None]:
        """Watch the video."""
        try:
            while True:
                request = await input_stream.get()
                assert request.blob is not None
                got.append(str(request.blob.mime_type))
                yield "a frame"
        finally:
            ended.set()

    def stop_streaming(function_name: str) -> None:
        """Stop a streaming function."""

    def next_frame() -> None:
        queue.send_realtime(FRAME)

    model = LiveModel(
        [
            HEARD,
            calls(call("watch", "a")),
            HEARD,
            next_frame,
            HEARD,
            HEARD,
            calls(call("stop_streaming", "b", function_name="watch")),
            HEARD,
            calls(call("stop_streaming", "c", function_name="watch")),
            HEARD,
            DONE,
        ]
    )
    talk, queue = started(agent(model, watch, stop_streaming), memory)
    await converse(talk, queue)
    assert got == ["image/jpeg"]
    assert ended.is_set()
    texts = model.connections[0].texts
    assert "Function watch returned: a frame" in texts
    assert texts[-2:] == [
        "stop_streaming={'status': 'Successfully stopped streaming function watch'}",
        "stop_streaming={'status': 'No active streaming function named watch found'}",
    ]
    (tool,) = present(model.requests[0].config.tools)
    declared = present(tool.function_declarations)
    assert [d.name for d in declared] == ["watch", "stop_streaming"]
    assert declared[0].parameters_json_schema is None


async def test_a_streaming_tool_that_raises_ends_the_run(memory: Store) -> None:
    async def watch() -> AsyncGenerator[str, None]:
        """Watch."""
        raise ValueError("no feed")
        yield ""

    model = LiveModel([HEARD, calls(call("watch", "a")), HEARD, HEARD, DONE])
    talk, queue = started(agent(model, watch), memory)
    with pytest.raises(ValueError, match="no feed") as raised:
        await converse(talk, queue)
    assert "streaming tool 'watch' of agent 'root'" in "".join(raised.value.__notes__)


async def test_a_streaming_tool_says_that_it_is_for_live_runs(memory: Store) -> None:
    async def watch() -> AsyncGenerator[str, None]:
        """Watch."""
        yield "x"

    model = ScriptedModel([scripted_call("watch")])
    error = await Talk(LlmAgent(name="root", model=model, tools=[watch]), memory).fails()
    assert isinstance(error, AgentConfigError)
    assert "run_live" in str(error)


async def test_a_transfer_goes_on_over_a_connection_of_the_other_agents(store: Store) -> None:
    model = LiveModel(
        [HEARD, calls(call("transfer_to_agent", "a", agent_name="sub")), HEARD],
        [text("I am sub", False), DONE],
    )
    sub = LlmAgent(name="sub", model=model, description="Knows.")
    talk, queue = started(LlmAgent(name="root", model=model, sub_agents=[sub]), store)
    events = await converse(talk, queue)
    assert lines(events) == [
        "root transfer_to_agent(a)",
        "root transfer_to_agent={'result': None}",
        "sub I am sub",
        "sub turn_complete",
    ]
    first, second = model.connections
    assert first.closed
    assert second.history is not None and second.history[0].parts is not None
    assert second.history[0].parts[0].text == "Hi"
    assert second.history[-1].role == "user"


async def test_a_sequence_goes_on_when_a_model_says_that_its_task_is_done(store: Store) -> None:
    model = LiveModel(
        [HEARD, text("1", False), calls(call("task_completed", "a")), HEARD],
        [text("2", False), calls(call("task_completed", "b")), HEARD],
    )
    subs = [LlmAgent(name=name, model=model, instruction=name) for name in ("one", "two")]
    talk, queue = started(SequentialAgent(name="seq", sub_agents=[*subs]), store)
    events = await converse(talk, queue)
    done = "task_completed={'result': 'Task completion signaled.'}"
    assert lines(events) == [
        "one 1",
        "one task_completed(a)",
        f"one {done}",
        "two 2",
        "two task_completed(b)",
        f"two {done}",
    ]
    for request in model.requests:
        assert "task_completed" in request.tools_dict
        assert "task_completed" in str(request.config.system_instruction)
    assert all(sub.tools == [] for sub in subs)


async def test_closing_ends_a_sequence_as_a_whole(memory: Store) -> None:
    model = LiveModel([HEARD, text("1", False), DONE])
    subs = [LlmAgent(name=name, model=model) for name in ("one", "two")]
    talk, queue = started(SequentialAgent(name="seq", sub_agents=[*subs]), memory)
    assert lines(await converse(talk, queue)) == ["one 1", "one turn_complete"]


async def test_a_message_for_the_user_of_a_long_running_tool_can_be_answered(
    memory: Store,
) -> None:
    """The user's function response is stored as the user's and sent on."""

    def answer() -> None:
        response = types.FunctionResponse(id="a", name="ask", response={"ok": True})
        part = types.Part(function_response=response)
        queue.send_content(types.Content(role="user", parts=[part]))

    def ask() -> None:
        """Ask a person."""

    model = LiveModel([HEARD, calls(call("ask", "a")), answer, HEARD, text("Good", False), DONE])
    talk, queue = started(agent(model, LongRunningFunctionTool(ask)), memory)
    events: list[Event] = await converse(talk, queue)
    assert events[0].long_running_tool_ids == {"a"}
    assert "user ask={'ok': True}" in lines(await talk.stored())
    assert model.connections[0].texts == ["Hi", "ask={'ok': True}"]
