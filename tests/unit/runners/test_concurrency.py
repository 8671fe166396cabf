"""One invocation at a time per session; keys, handles and nested runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent
from ostinato.context import RunConfig
from ostinato.errors import RunCancelledError, SessionBusyError
from ostinato.events import Event
from ostinato.models import LlmResponse
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, ScriptedModel, call, final_text, trace
from tests.support.optionals import parts_of
from tests.unit.flows.kit import SESSION, USER, Store, Talk, check_paired, responses, unanswered


def echo(request: Any) -> LlmResponse:
    """Call the tool once, then answer with the question."""
    last = request.contents[-1].parts[-1]
    if last.function_response is None:
        call_part = types.Part(function_call=types.FunctionCall(name="wait", args={}))
        return LlmResponse(content=types.Content(role="model", parts=[call_part]))
    question = [p.text for c in request.contents for p in c.parts if p.text][-1]
    answer = types.Part(text=f"re {question}")
    return LlmResponse(content=types.Content(role="model", parts=[answer]))


async def wait() -> str:
    """Let others have a go."""
    for _ in range(3):
        await asyncio.sleep(0)
    return "waited"


def echoing() -> LlmAgent:
    return LlmAgent(name="clerk", model=FunctionModel(echo), tools=[wait])


async def collect(runner: Runner, text: str, session: str = SESSION, **options: Any) -> list[Event]:
    place = {"user_id": USER, "session_id": session}
    return [e async for e in runner.run_async(**place, new_message=text, **options)]


@pytest.mark.parametrize("runners", [1, 2])
async def test_twenty_runs_on_one_session_keep_order_and_never_interleave(
    store: Store, runners: int
) -> None:
    talk = Talk(echoing(), store)
    others = [talk.runner, Talk(echoing(), store).runner][:runners]
    texts = [f"Q{n}" for n in range(20)]
    tasks = []
    for n, text in enumerate(texts):
        tasks.append(asyncio.create_task(collect(others[n % runners], text)))
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks)
    assert [final_text(events) for events in results] == [f"re {t}" for t in texts]
    log = await talk.stored()
    order = [e.invocation_id for e in log]
    assert order == sorted(order, key=order.index)
    assert len(set(order)) == 20 and len(log) == 80
    asked = [final_text([e]) for e in log if e.author == "user"]
    assert asked == texts
    assert unanswered(log) == []


async def test_runs_on_different_sessions_run_side_by_side(memory: Store) -> None:
    """Each waits for the other: one after the other would never end."""
    met = asyncio.Barrier(5)

    async def meet() -> str:
        await met.wait()
        return "met"

    model = FunctionModel(
        lambda request: (
            "Done." if parts_of(request.contents[-1])[-1].function_response else call("meet")
        )
    )
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[meet]), memory)
    async with asyncio.timeout(60):
        runs = await asyncio.gather(*(collect(talk.runner, "Go", f"s{n}") for n in range(5)))
    assert [final_text(events) for events in runs] == ["Done."] * 5


async def test_a_run_within_a_tool_on_the_same_session_does_not_wait_for_itself(
    store: Store,
) -> None:
    talk: Talk

    async def nest(tool_context: Any) -> str:
        return final_text(await collect(talk.runner, "Nested question"))

    model = ScriptedModel([call("nest"), "Nested answer.", "Outer answer."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[nest]), store)
    async with asyncio.timeout(60):
        events = await talk.say("Outer question")
    assert responses(events) == [{"result": "Nested answer."}]
    assert final_text(events) == "Outer answer."
    await talk.check_goes_on(model)


async def test_the_model_of_a_nested_run_is_not_sent_the_call_that_started_it(
    store: Store,
) -> None:
    talk: Talk

    async def nest() -> str:
        return final_text(await collect(talk.runner, "Inner?"))

    said = types.Part(text="Let me ask.")
    asked = types.Part(function_call=types.FunctionCall(name="nest", args={}))
    first = LlmResponse(content=types.Content(role="model", parts=[said, asked]))
    model = ScriptedModel([first, call("wait"), "Inner.", "Outer."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[nest, wait]), store)
    await talk.say("Outer?")
    for request in model.requests:
        check_paired(request.contents)
    assert model.requests[1].texts == ["Outer?", "Let me ask.", "Inner?"]
    await talk.check_goes_on(model)


@pytest.mark.parametrize("policy", ["queue", "reject"])
async def test_who_has_read_half_of_a_run_is_refused_a_second_one_in_the_session(
    store: Store, policy: Any
) -> None:
    model = ScriptedModel([call("wait"), "Outer."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    async for event in talk.run("Outer?"):
        if event.get_function_calls():
            refused = await talk.fails("Inner?", run_config=RunConfig(on_busy=policy))
            assert isinstance(refused, SessionBusyError)
            assert ("read only some" in str(refused)) == (policy == "queue")
    assert len({event.invocation_id for event in await talk.stored()}) == 1
    await talk.check_goes_on(model)


async def test_who_has_read_half_of_a_run_may_interrupt_it(store: Store) -> None:
    model = ScriptedModel([call("wait"), "To the next."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    events = talk.run("First")
    await anext(events)
    async with asyncio.timeout(60):
        answer = await talk.say("Next", run_config=RunConfig(on_busy="interrupt"))
    assert final_text(answer) == "To the next."
    check_paired(model.requests[-1].contents)
    with pytest.raises(RunCancelledError):
        await anext(events)
    await talk.check_goes_on(model)


async def test_a_run_left_by_break_makes_way_for_the_next_one(store: Store) -> None:
    """Also one behind generators of the program's own."""

    async def relay(events: Any) -> AsyncIterator[Event]:
        async for event in events:
            yield event

    model = ScriptedModel([call("wait"), "Next."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    async for _ in relay(relay(relay(talk.run("First")))):
        break
    assert final_text(await talk.say("Second")) == "Next."
    await talk.check_goes_on(model)


async def test_the_consumer_is_not_marked_as_part_of_the_run_it_iterates(memory: Store) -> None:
    """A task that it starts between two events has to wait like anybody else."""
    model = ScriptedModel([call("wait"), "First.", "Second."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), memory)
    other: asyncio.Task[Any] | None = None
    async for event in talk.run("One"):
        if event.get_function_calls():
            other = asyncio.create_task(collect(talk.runner, "Two"))
            await asyncio.sleep(0)
    assert other is not None
    assert final_text(await other) == "Second."
    order = [e.invocation_id for e in await talk.stored()]
    assert order == sorted(order, key=order.index) and len(set(order)) == 2


async def test_a_repeated_key_starts_nothing_and_yields_the_first_events(store: Store) -> None:
    model = ScriptedModel([call("wait"), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    first = await collect(talk.runner, "Go", idempotency_key="k1")
    again = await collect(talk.runner, "Go", idempotency_key="k1")
    assert [e.id for e in again] == [e.id for e in first]
    assert trace(again) == trace(first)
    assert len(model.requests) == 2 and len(await talk.stored()) == 4


async def test_a_repeated_key_after_a_restart_starts_nothing_either(store: Store) -> None:
    model = ScriptedModel(["Done."])
    first = await collect(Talk(LlmAgent(name="clerk", model=model), store).runner, "Go",
                          idempotency_key="k1")  # fmt: skip
    other = LlmAgent(name="clerk", model=ScriptedModel())
    again = await collect(Talk(other, store).runner, "Go", idempotency_key="k1")
    assert [e.id for e in again] == [e.id for e in first]


async def test_a_repeated_key_follows_the_run_while_it_runs(store: Store) -> None:
    model = ScriptedModel([call("wait"), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    runs = [collect(talk.runner, "Go", idempotency_key="k1") for _ in range(3)]
    results = await asyncio.gather(*runs)
    assert trace(results[0])[-1] == "clerk: Done."
    assert {tuple(e.id for e in events) for events in results} == {tuple(e.id for e in results[0])}
    assert len(model.requests) == 2 and len(await talk.stored()) == 4


async def test_a_follower_of_a_run_that_fails_is_handed_its_error_event(memory: Store) -> None:
    model = ScriptedModel([call("wait"), RuntimeError("quota")])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), memory)
    first, follower = await asyncio.gather(
        *(collect(talk.runner, "Go", idempotency_key="k1") for _ in range(2)),
        return_exceptions=True,
    )
    assert isinstance(first, RuntimeError)
    assert isinstance(follower, list) and follower[-1].error_code == "RuntimeError"


async def test_different_keys_and_sessions_are_different_requests(memory: Store) -> None:
    model = ScriptedModel(["A", "B", "C"])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    assert final_text(await collect(talk.runner, "Go", idempotency_key="k1")) == "A"
    assert final_text(await collect(talk.runner, "Go", idempotency_key="k2")) == "B"
    assert final_text(await collect(talk.runner, "Go", "other", idempotency_key="k1")) == "C"


async def test_a_started_run_is_iterated_as_often_as_wanted_and_has_a_result(
    store: Store,
) -> None:
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=10, candidates_token_count=5, total_token_count=15
    )
    content = types.Content(role="model", parts=[types.Part(text="Done.")])
    model = ScriptedModel([call("wait"), LlmResponse(content=content, usage_metadata=usage)])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[wait]), store)
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    first = [e.id async for e in run]
    second = [e.id async for e in run]
    result = await run.result()
    assert first == second == [e.id for e in result.events]
    assert result.text == "Done."
    assert (result.usage.llm_calls, result.usage.tool_calls) == (2, 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5)
    assert result.usage.total_tokens == 15


async def test_a_started_run_goes_on_without_a_reader(memory: Store) -> None:
    model = ScriptedModel(["Done."])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    assert (await run.result()).text == "Done."
    assert len(await talk.stored()) == 2


async def test_the_error_of_a_started_run_reaches_readers_and_result(memory: Store) -> None:
    raised = RuntimeError("quota")
    talk = Talk(LlmAgent(name="clerk", model=ScriptedModel([raised])), memory)
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    with pytest.raises(RuntimeError) as caught:
        async for _ in run:
            pass
    assert caught.value is raised
    with pytest.raises(RuntimeError):
        await run.result()


async def test_a_reader_that_is_cancelled_does_not_cancel_the_run(memory: Store) -> None:
    release = asyncio.Event()

    async def hold() -> str:
        await release.wait()
        return "held"

    model = ScriptedModel([call("hold"), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[hold]), memory)
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    reader = asyncio.create_task(run.result())
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    release.set()
    assert (await run.result()).text == "Done."


async def test_two_agents_that_run_side_by_side_may_both_run_nested(memory: Store) -> None:
    """A task that a tool starts is part of the run too."""
    talk: Talk

    class Spawns(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            nested = asyncio.create_task(collect(other.runner, "Nested?"))
            text = final_text(await nested)
            yield Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                content=types.Content(role="model", parts=[types.Part(text=text)]),
            )

    other = Talk(LlmAgent(name="helper", model=ScriptedModel(["Nested."])), memory)
    talk = Talk(Spawns(name="spawns"), memory)
    async with asyncio.timeout(60):
        assert final_text(await talk.say()) == "Nested."


async def test_requests_after_interleaved_nested_runs_stay_paired(memory: Store) -> None:
    talk: Talk

    async def nest() -> str:
        await collect(talk.runner, "Inner?")
        return "nested"

    model = ScriptedModel([[call("nest"), call("wait")], "Inner.", "Outer."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[nest, wait]), memory)
    await talk.say("Outer?")
    check_paired(model.requests[-1].contents)
    await talk.check_goes_on(model)


async def test_a_task_that_outlives_its_run_waits_for_its_turn(store: Store) -> None:
    """It has the context of its run, and is no part of the one that has the session now."""
    go, held, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()
    tasks: list[asyncio.Task[list[Event]]] = []

    async def later() -> list[Event]:
        await go.wait()
        return await collect(talk.runner, "later")

    async def spawn() -> str:
        """Leave a task behind."""
        tasks.append(asyncio.create_task(later()))
        return "spawned"

    async def hold() -> str:
        """Hold the session."""
        held.set()
        await gate.wait()
        return "held"

    model = ScriptedModel([call("spawn"), "Spawned.", call("hold"), "Held.", "Late."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[spawn, hold]), store)
    await collect(talk.runner, "first")
    busy = asyncio.create_task(collect(talk.runner, "second"))
    await held.wait()
    go.set()
    for _ in range(50):
        await asyncio.sleep(0)
    assert not tasks[0].done() and len(model.requests) == 3
    gate.set()
    assert final_text(await busy) == "Held."
    assert final_text(await tasks[0]) == "Late."
