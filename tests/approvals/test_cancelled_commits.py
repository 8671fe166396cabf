"""A run that is cancelled while its answer is stored leaves no decision without an outcome."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from ostinato.errors import RunCancelledError
from ostinato.testing import call
from tests.approvals.kit import PLACE, Desk, decide

NOT_RUN = {
    "error": "The run stopped after the user had answered and before this call began; it did not "
    "run."
}
REJECTED = {"error": "This tool call is rejected."}


class CommitPoint:
    """Holds the service's answer to the commit of a user's answer back."""

    def __init__(self, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.passed = asyncio.Event(), asyncio.Event()
        name = commit_method(service)
        self._append = getattr(service, name)
        monkeypatch.setattr(service, name, self.append)

    async def append(self, *arguments: Any, **options: Any) -> Any:
        stored = await self._append(*arguments, **options)
        events = [options["event"]] if "event" in options else arguments[1]
        if any(one.author == "user" and one.get_function_responses() for one in events):
            self.reached.set()
            await self.passed.wait()
        return stored


def commit_method(service: Any) -> str:
    """Return the method by which the runner stores the events of a run."""
    return "append" if hasattr(service, "append") else "append_event"


async def cancel_at_commit(desk: Desk, point: CommitPoint, message: Any, way: str) -> None:
    """Send a message and cancel its run while the store commits it."""
    run = desk.runner.start(**PLACE, new_message=message) if way == "run" else None
    reader = asyncio.create_task(desk.say(message) if run is None else run.result())
    await point.reached.wait()
    cancelling = None if run is None else asyncio.create_task(run.cancel())
    if way == "caller":
        reader.cancel()
    elif way == "runner":
        invocation_id = (await desk.events())[0].invocation_id
        assert await desk.runner.cancel(**PLACE, invocation_id=invocation_id)
    for _ in range(5):  # the cancellation reaches the run, which waits for the store
        await asyncio.sleep(0)
    point.passed.set()
    if cancelling is not None:
        assert await cancelling
    with suppress(asyncio.CancelledError, RunCancelledError):
        await reader
        raise AssertionError("the run was cancelled")


async def tool_responses(desk: Desk) -> list[Any]:
    """Return the responses to the calls of `pay`, without the first, which asks."""
    found = [one for event in await desk.events() for one in event.get_function_responses()]
    return [one.response for one in found if one.name == "pay"][1:]


@pytest.mark.parametrize(
    ("way", "confirmed", "outcome"),
    [
        ("caller", True, NOT_RUN),
        ("caller", False, REJECTED),
        ("run", True, NOT_RUN),
        ("runner", True, NOT_RUN),
    ],
)
async def test_a_cancel_during_the_commit_of_an_answer_closes_its_call(
    service: Any, monkeypatch: pytest.MonkeyPatch, way: str, confirmed: bool, outcome: Any
) -> None:
    desk = Desk(service, call("pay", amount=5), "Next.", "More.")
    request = await desk.ask()
    invocation_id = (await desk.events())[0].invocation_id
    point = CommitPoint(service, monkeypatch)
    await cancel_at_commit(desk, point, decide(request, confirmed), way)
    assert await tool_responses(desk) == [outcome]
    await desk.say(None, invocation_id=invocation_id)
    await desk.say("Was it paid?")
    assert desk.paid == [] and await tool_responses(desk) == [outcome]
    await desk.runner.close()


async def test_a_cancel_during_the_commit_of_a_keyed_answer_closes_its_call(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(service)
    request, point = await desk.ask(), CommitPoint(service, monkeypatch)
    reader = asyncio.create_task(desk.say(decide(request), idempotency_key="k"))
    await point.reached.wait()
    reader.cancel()
    point.passed.set()
    with suppress(asyncio.CancelledError):
        await reader
    assert desk.paid == [] and await tool_responses(desk) == [NOT_RUN]


async def test_a_commit_that_fails_while_it_is_cancelled_leaves_the_call_open(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(service)
    request = await desk.ask()
    name = commit_method(service)
    reached, passed, inner = asyncio.Event(), asyncio.Event(), getattr(service, name)

    async def refuse(*_: Any, **__: Any) -> None:
        reached.set()
        await passed.wait()
        raise RuntimeError("the store refused it")

    monkeypatch.setattr(service, name, refuse)
    reader = asyncio.create_task(desk.say(decide(request)))
    await reached.wait()
    reader.cancel()
    passed.set()
    with suppress(asyncio.CancelledError):
        await reader
    monkeypatch.setattr(service, name, inner)
    assert await tool_responses(desk) == []
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_reader_that_leaves_at_the_echo_of_its_answer_closes_the_call(service: Any) -> None:
    desk = Desk(service)
    request = await desk.ask()
    events = desk.runner.run_async(**PLACE, new_message=decide(request), yield_user_message=True)
    assert (await anext(events)).author == "user"
    await events.aclose()
    assert desk.paid == [] and await tool_responses(desk) == [NOT_RUN]
