"""A second run of a node's tool, which a person allowed: what it asks has answers of its own."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from ostinato.events.request_input import RequestInput
from ostinato.tools import FunctionTool, ToolContext
from ostinato.workflow import START, NodeTimeoutError, RetryConfig, Workflow, node
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.flows.kit import store as store


def begin(node_input: str) -> dict[str, Any]:
    return {}


async def test_the_first_runs_answer_is_not_read_again(store: Store) -> None:
    read: list[tuple[bool, Any]] = []

    async def pay(tool_context: ToolContext) -> str:
        given = tool_context.tool_confirmation
        if given is None or given.payload is None:
            tool_context.request_confirmation(hint="How much?", payload={"sum": 0})
            return "waits"
        read.append((given.confirmed, given.payload))
        if len(read) == 1:
            await asyncio.Event().wait()
        return "ended"

    tool = node(FunctionTool(pay, in_doubt="ask"), timeout=60.0)
    talk = Talk(Workflow(name="flow", edges=[(START, begin, tool)]), store)

    async def answer(response: Any) -> None:
        (asked,) = [
            one
            for event in talk.seen[-3:]
            for one in event.get_function_calls()
            if one.name == "adk_request_input"
        ][-1:]
        run = asyncio.create_task(talk.say(answer_to(asked, {"result": response})))
        while not run.done() and len(read) != 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        if len(read) == 1:
            await time_passes(run.done)
        await run

    await talk.say()
    await answer({"confirmed": True, "payload": {"sum": 1}})
    await answer(True)  # run it again
    await answer({"confirmed": False, "payload": {"sum": 2}})
    assert read == [(True, {"sum": 1}), (False, {"sum": 2})]


def asked_last(talk: Talk) -> Any:
    """The newest question of a node."""
    return [
        call
        for event in talk.seen
        for call in event.get_function_calls()
        if call.name == "adk_request_input"
    ][-1]


class Till:
    """A tool of a graph beside a question, and how often it ran.

    Args:
      failures: how many of its first runs fail.
      options: of the tool.
    """

    def __init__(self, failures: int, retry: RetryConfig | None = None, **options: Any) -> None:
        self.runs = 0
        self.failures = failures
        pay: Any = FunctionTool(self.pay, **options)
        pay = node(pay, retry_config=retry) if retry is not None else pay
        edges: list[Any] = [(START, begin, pay), (START, self.ask)]
        self.graph = Workflow(name="flow", edges=edges)

    async def pay(self) -> None:
        self.runs += 1
        if self.runs <= self.failures:
            raise ValueError("The bank failed.")

    def ask(self, node_input: Any) -> RequestInput:
        return RequestInput(message="Is it right?")


@pytest.mark.parametrize("retry", [None, RetryConfig(max_attempts=2, initial_delay=0)])
async def test_an_approval_counts_for_the_attempts_of_one_run(
    store: Store, retry: RetryConfig | None
) -> None:
    attempts = 1 if retry is None else 2
    till = Till(attempts, retry, require_confirmation=True)
    talk = Talk(till.graph, store)
    await talk.say()
    asked = [one for event in talk.seen for one in event.get_function_calls()]
    (other,) = [one for one in asked if (one.args or {}).get("message") == "Is it right?"]
    await talk.fails(answer_to(asked_last(talk), {"result": True}))
    assert till.runs == attempts
    await talk.say(answer_to(other, {"result": "yes"}))
    again = asked_last(talk)
    assert (again.args or {})["message"] == "Run pay()? It was approved before, ran and failed."
    await talk.say(None, invocation_id=talk.seen[0].invocation_id)
    assert till.runs == attempts
    await talk.say(answer_to(again, {"result": True}))
    assert till.runs == attempts + 1


async def test_a_resume_without_an_answer_runs_no_call_in_doubt(store: Store) -> None:
    runs: list[str] = []

    async def pay() -> None:
        runs.append("begun")
        await asyncio.Event().wait()

    retry = RetryConfig(max_attempts=2, initial_delay=0)
    tool = node(FunctionTool(pay, in_doubt="ask"), timeout=60.0, retry_config=retry)
    talk = Talk(Workflow(name="flow", edges=[(START, begin, tool)]), store)
    run = asyncio.create_task(talk.say())
    await time_passes(run.done)
    await run
    asked = asked_last(talk)
    for _ in range(2):
        await talk.say(None, invocation_id=talk.seen[0].invocation_id)
    assert runs == ["begun"] and asked_last(talk).id == asked.id


async def resume(talk: Talk) -> None:
    """Resume the invocation without an answer, while a minute passes if it waits."""
    run = asyncio.create_task(talk.say(None, invocation_id=talk.seen[0].invocation_id))
    await time_passes(run.done)
    with suppress(NodeTimeoutError):
        await run


async def test_an_approval_stays_used_up_though_a_failure_withdraws_the_next_question(
    store: Store,
) -> None:
    till = Till(1, require_confirmation=True)
    waits = [True]

    async def wait(node_input: Any) -> None:
        if waits:
            waits.clear()
            await asyncio.Event().wait()

    edges: list[Any] = [*till.graph.edges[:1], (START, till.ask, wait)]
    inner = node(Workflow(name="inner", edges=edges), timeout=60.0)
    talk = Talk(Workflow(name="flow", edges=[(START, inner)]), store)
    await talk.say()
    asked = [one for event in talk.seen for one in event.get_function_calls()]
    (other,) = [one for one in asked if (one.args or {}).get("message") == "Is it right?"]
    await talk.fails(answer_to(asked_last(talk), {"result": True}))
    await resume(talk)
    again = asked_last(talk)
    run = asyncio.create_task(talk.fails(answer_to(other, {"result": "yes"})))
    await time_passes(run.done)
    assert isinstance(await run, NodeTimeoutError)
    for _ in range(2):
        await resume(talk)
    assert till.runs == 1 and asked_last(talk).id == again.id
    await talk.say(answer_to(asked_last(talk), {"result": True}))
    assert till.runs == 2


async def test_a_second_run_that_failed_leaves_the_first_one_in_doubt(store: Store) -> None:
    runs: list[str] = []

    async def pay() -> None:
        runs.append("begun")
        if len(runs) == 1:
            await asyncio.Event().wait()
        raise ValueError("The bank failed.")

    tool = node(FunctionTool(pay, in_doubt="ask"), timeout=60.0)
    talk = Talk(Workflow(name="flow", edges=[(START, begin, tool)]), store)
    first = asyncio.create_task(talk.say())
    await time_passes(first.done)
    await first
    asked = asked_last(talk)
    assert isinstance(await talk.fails(answer_to(asked, {"result": True})), ValueError)
    for _ in range(2):
        await resume(talk)
    assert len(runs) == 2 and asked_last(talk).id != asked.id
