"""A second request under an idempotency key: the first one counts, wherever it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.context.run_config import RunConfig
from ostinato.errors import IdempotencyKeyReusedError
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.testing import call
from tests.approvals.kit import PLACE, Desk, decide, make_hold, requests
from tests.support.databases import SERVERS

_SERVERS = [pytest.param(name, marks=pytest.mark.service) for name in SERVERS]
_NAMES = ["file", "sql file", *_SERVERS]
shared = pytest.mark.parametrize("store", _NAMES, indirect=True)  # what other processes reach


def texts(events: list[Any]) -> list[str | None]:
    parts = [part for event in events for part in (event.content and event.content.parts) or ()]
    return [part.text for part in parts if part.text]


async def waiting(store: Any) -> list[str]:
    return [one.invocation_id for one in await store.messages(("desk", "ann", "one"))]


async def open_calls(store: Any) -> set[str]:
    return {one.request.call_id for one in (await store.open_requests("desk")).requests}


async def ask_twice(store: Any) -> tuple[Desk, list[types.FunctionCall]]:
    """Return a desk that waits for two decisions."""
    desk = Desk(store, [call("pay", amount=1), call("pay", amount=2)], "Done.", "More.", "Last.")
    return desk, requests(await desk.say())


@shared
@pytest.mark.parametrize("first", [True, False])
async def test_a_submitted_decision_is_the_one_that_runs(store: Any, first: bool) -> None:
    desk = Desk(store)
    request = await desk.ask()
    options: dict[str, Any] = {**PLACE, "idempotency_key": "k"}
    accepted = await desk.runner.submit(new_message=decide(request, first), **options)
    for again in (desk, Desk(store, "Done.")):
        with pytest.raises(IdempotencyKeyReusedError):
            await again.say(decide(request, not first), idempotency_key="k")
        with pytest.raises(IdempotencyKeyReusedError):
            await again.runner.submit(new_message=decide(request, not first), **options)
    assert await desk.runner.submit(new_message=decide(request, first), **options) == accepted
    assert await waiting(store) == [accepted]
    events = await desk.say(decide(request, first), idempotency_key="k")
    assert {event.invocation_id for event in events} == {accepted}
    assert desk.paid == ([5] if first else [])
    for act in (desk.say, desk.runner.submit):  # it has ended
        given = {} if act == desk.say else PLACE
        message = decide(request, not first)
        with pytest.raises(IdempotencyKeyReusedError):
            if act == desk.say:
                await desk.say(message, idempotency_key="k")
            else:
                await desk.runner.submit(new_message=message, idempotency_key="k", **given)
    assert await desk.runner.submit(new_message=decide(request, first), **options) == accepted
    assert await waiting(store) == []


@shared
async def test_a_key_of_one_call_decides_no_other_call(store: Any) -> None:
    desk, (one, two) = await ask_twice(store)
    options: dict[str, Any] = {**PLACE, "idempotency_key": "k"}
    await desk.runner.submit(new_message=decide(one, False), **options)
    with pytest.raises(IdempotencyKeyReusedError):
        await desk.say(decide(two), idempotency_key="k")
    with pytest.raises(IdempotencyKeyReusedError):
        await desk.runner.submit(new_message=decide(two), **options)
    assert await open_calls(store) == {two.id}
    await desk.say(decide(one, False), idempotency_key="k")
    assert desk.paid == []
    assert await open_calls(store) == {two.id}
    await desk.say(decide(two))
    assert desk.paid == [2]
    assert await open_calls(store) == set()


@shared
async def test_a_submitted_text_is_not_replaced_by_another(store: Any) -> None:
    desk = Desk(store, "A.", "B.")
    await desk.say("hello")
    await desk.runner.submit(**PLACE, new_message="order A", idempotency_key="k")
    with pytest.raises(IdempotencyKeyReusedError):
        await desk.say("order B", idempotency_key="k")
    await desk.say("order A", idempotency_key="k")
    assert texts(await desk.events()) == ["hello", "A.", "order A", "B."]


@pytest.mark.parametrize("policy", ["queue", "interrupt", "reject"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
async def test_a_decision_that_waits_behind_a_run_is_not_reversed(
    store: Any, elsewhere: bool, policy: Any
) -> None:
    """`elsewhere` stands for another Runner of the same process, whose table of runs differs."""
    hold, entered, gate = make_hold()
    script = [call("pay", amount=5), call("hold"), "Held.", "Done."]
    desk = Desk(store, *script, tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    options: dict[str, Any] = {**PLACE, "idempotency_key": "k"}
    first = desk.runner.start(new_message=decide(request, False), **options)
    await first.wait_until_accepted()
    other = Desk(store, "Done.") if elsewhere else desk
    other.paid = desk.paid
    second = asyncio.create_task(
        other.say(decide(request, True), idempotency_key="k", run_config=RunConfig(on_busy=policy))
    )
    for _ in range(20):
        await asyncio.sleep(0)
    if policy != "reject":
        with pytest.raises(IdempotencyKeyReusedError):
            await second
    gate.set()
    await busy  # nobody has interrupted it
    await first.result()
    if policy == "reject":
        with pytest.raises(IdempotencyKeyReusedError):
            await second
    assert desk.paid == []
    assert await open_calls(store) == set()


async def test_a_repeated_request_interrupts_nothing(store: Any) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(store, call("hold"), "Held.", tools=[hold])
    config = RunConfig(on_busy="interrupt")
    first = asyncio.create_task(desk.say("Hold.", idempotency_key="k", run_config=config))
    await entered.wait()
    other = Desk(store, "Never.")
    again = asyncio.create_task(other.say("Hold.", idempotency_key="k", run_config=config))
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    said = [[event.id for event in events] for events in await asyncio.gather(first, again)]
    assert said[0] == said[1]


class Rewriting(BasePlugin):
    """Drops the decisions from messages; what it was shown is in `seen`."""

    def __init__(self) -> None:
        super().__init__(name="rewriting")
        self.seen: list[Any] = []

    async def on_user_message_callback(self, *, user_message: Any, **_: Any) -> Any:
        self.seen.append(user_message)
        return types.Content(role="user", parts=[types.Part(text="Never mind.")])


@shared
async def test_a_decision_that_a_plugin_drops_leaves_the_call_open(store: Any) -> None:
    desk, (one, two) = await ask_twice(store)
    desk.runner.plugin_manager.register_plugin(Rewriting())
    await desk.runner.submit(**PLACE, new_message=decide(one))
    assert await open_calls(store) == {two.id}
    await desk.runner.resume_open()
    assert desk.paid == []
    assert await open_calls(store) == {one.id, two.id}


async def test_a_key_is_taken_before_the_hooks_of_its_message_run(store: Any) -> None:
    """While a plugin works on the first message, another one under the key is refused."""
    entered, gate = asyncio.Event(), asyncio.Event()

    class Slow(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> None:
            entered.set()
            await gate.wait()

    desk = Desk(store, "A.")
    desk.runner.plugin_manager.register_plugin(Slow(name="slow"))
    first = asyncio.create_task(desk.say("order A", idempotency_key="k"))
    await entered.wait()
    with pytest.raises(IdempotencyKeyReusedError):
        await Desk(store, "B.").say("order B", idempotency_key="k")
    gate.set()
    assert texts(await first) == ["A."]
    assert texts(await desk.events()) == ["order A", "A."]


async def test_a_key_of_a_resume_begins_nothing_twice(store: Any) -> None:
    desk = Desk(store, "A.", "B.", "C.")
    (event, *_) = await desk.say("first")
    for _ in range(2):
        await desk.say("second", idempotency_key="k", invocation_id=event.invocation_id)
    assert texts(await desk.events()) == ["first", "A.", "second", "B."]
    await desk.say(None, idempotency_key="r", invocation_id=event.invocation_id)
    assert texts(await desk.events()) == ["first", "A.", "second", "B."]
