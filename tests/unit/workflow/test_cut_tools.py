"""Tool nodes whose call was cut by the end of its run: their policies decide about the next one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.tools import FunctionTool, ToolContext
from ostinato.tools.call_doubt import UnknownOutcome
from ostinato.workflow import START, FunctionNode, Workflow
from ostinato.workflow.node_errors import ToolInDoubtError
from tests.unit.durable.crash import WHO, flagged
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import asked, gives, shows
from tests.unit.workflow.test_people import reply

PAID = "show got {'paid': 5}"


class Desk:
    """A tool that waits in its body, and what reached it.

    Attributes:
      keys: the idempotency keys of the calls.
      is_slow: whether a call waits until it is cancelled.
    """

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.is_slow = True
        self.begun = asyncio.Event()

    def tool(self, **options: Any) -> FunctionTool:
        async def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
            self.keys.append(tool_context.idempotency_key)
            self.begun.set()
            if self.is_slow:
                await asyncio.sleep(60)
            return {"paid": amount}

        return FunctionTool(pay, **options)

    def line(self, **options: Any) -> Workflow:
        first = gives("first", {"amount": 5})
        return Workflow(name="flow", edges=[(START, first, self.tool(**options), shows())])


async def cut(talk: Talk, begun: asyncio.Event, how: str, **given: Any) -> str:
    """Begin a run, end it once `begun` is set, and return its invocation."""
    task = asyncio.ensure_future(talk.say(**given))
    async with asyncio.timeout(10):
        await begun.wait()
        if how == "cancel":
            runner: Runner = talk.runner
            await runner.cancel(**WHO)
        else:
            task.cancel()
    with pytest.raises(BaseException):  # noqa: B017 - an error of the runner, or the cancellation
        await task
    begun.clear()
    return (await talk.stored())[0].invocation_id


@pytest.fixture(params=["cancel", "task"])
def how(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_a_cancelled_call_is_made_at_most_once(store: Store, how: str) -> None:
    desk = Desk()
    talk = Talk(desk.line(in_doubt="at_most_once"), store)
    invocation_id = await cut(talk, desk.begun, how)
    desk.is_slow = False
    error = await talk.fails(None, invocation_id=invocation_id)
    assert isinstance(error, ToolInDoubtError) and len(desk.keys) == 1


async def test_a_lost_answer_is_not_told_as_the_end_of_a_process(store: Store) -> None:
    paid: list[int] = []

    async def pay(amount: int) -> dict[str, Any]:
        paid.append(amount)
        return UnknownOutcome(error="Connection lost.")

    tool = FunctionTool(pay, in_doubt="at_most_once")
    first = gives("first", {"amount": 5})
    talk = Talk(Workflow(name="flow", edges=[(START, first, tool, shows())]), store)
    assert "Connection lost." in str(await talk.fails())
    invocation_id = (await talk.stored())[0].invocation_id
    for _ in range(2):
        error = await talk.fails(None, invocation_id=invocation_id)
        assert isinstance(error, ToolInDoubtError) and paid == [5]
        assert "An attempt of this call was cut off or got no answer" in str(error)
        assert "process" not in str(error)


async def test_a_person_decides_about_each_cancelled_call(store: Store, how: str) -> None:
    desk = Desk()
    talk = Talk(desk.line(in_doubt="ask"), store)
    invocation_id = await cut(talk, desk.begun, how)
    (question,) = asked(await talk.say(None, invocation_id=invocation_id))
    assert len(desk.keys) == 1
    answer = reply(question.id, {"result": True})
    await cut(talk, desk.begun, how, message=answer)
    assert len(desk.keys) == 2
    desk.is_slow = False
    (second,) = asked(await talk.say(None, invocation_id=invocation_id))
    assert second.id != question.id and len(desk.keys) == 2
    events = await talk.say(reply(second.id, {"result": True}))
    assert events[-1].output == PAID and len(desk.keys) == 3


@pytest.mark.parametrize("found", [True, False])
async def test_a_check_decides_about_a_cancelled_call(store: Store, how: str, found: bool) -> None:
    desk = Desk()

    def find(args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        return {"paid": 5} if found else None

    talk = Talk(desk.line(in_doubt="at_most_once", check=find), store)
    invocation_id = await cut(talk, desk.begun, how)
    desk.is_slow = False
    events = await talk.say(None, invocation_id=invocation_id)
    assert events[-1].output == PAID and len(desk.keys) == (1 if found else 2)


async def test_a_cancelled_call_runs_again_with_its_key_and_is_marked(
    store: Store, how: str
) -> None:
    desk = Desk()
    talk = Talk(desk.line(), store)
    invocation_id = await cut(talk, desk.begun, how)
    desk.is_slow = False
    events = await talk.say(None, invocation_id=invocation_id)
    assert events[-1].output == PAID
    assert len(desk.keys) == 2 and len(set(desk.keys)) == 1
    assert {call.rpartition("/")[2] for call in flagged(await talk.stored())} == {"pay@1"}


async def test_a_call_that_had_not_begun_simply_runs(store: Store, how: str) -> None:
    desk, waiting, is_slow = Desk(), asyncio.Event(), [True]
    desk.is_slow = False

    async def prepare(node_input: Any) -> dict[str, int]:
        waiting.set()
        if is_slow[0]:
            await asyncio.sleep(60)
        return {"amount": 5}

    tool = desk.tool(in_doubt="at_most_once")
    first = FunctionNode(func=prepare, name="first")
    talk = Talk(Workflow(name="flow", edges=[(START, first, tool, shows())]), store)
    invocation_id = await cut(talk, waiting, how)
    is_slow[0] = False
    events = await talk.say(None, invocation_id=invocation_id)
    assert events[-1].output == PAID and len(desk.keys) == 1
    assert not flagged(await talk.stored())


@pytest.mark.parametrize("result", [None, "paid"])
async def test_a_call_that_had_ended_is_not_made_again(
    store: Store, how: str, result: str | None
) -> None:
    paid: list[int] = []
    waiting, is_slow = asyncio.Event(), [True]

    async def pay(amount: int) -> str | None:
        paid.append(amount)
        return result

    async def end(node_input: Any) -> str:
        waiting.set()
        if is_slow[0]:
            await asyncio.sleep(60)
        return "end"

    tool = FunctionTool(pay, in_doubt="at_most_once")
    last = FunctionNode(func=end, name="last")
    edges = [(START, gives("first", {"amount": 5}), tool, last)]
    talk = Talk(Workflow(name="flow", edges=edges), store)
    invocation_id = await cut(talk, waiting, how)
    is_slow[0] = False
    events = await talk.say(None, invocation_id=invocation_id)
    assert events[-1].output == "end" and paid == [5]


async def test_a_call_that_a_failure_beside_it_cut_is_in_doubt(store: Store) -> None:
    desk, does_fail = Desk(), [True]

    async def fail(node_input: Any) -> str:
        if does_fail[0]:
            await desk.begun.wait()
            raise ValueError("no")
        return "other"

    beside = FunctionNode(func=fail, name="beside")
    tool = desk.tool(in_doubt="at_most_once")
    edges = [(START, gives("first", {"amount": 5}), (tool, beside))]
    talk = Talk(Workflow(name="flow", edges=edges), store)
    assert isinstance(await talk.fails(), ValueError)
    desk.is_slow, does_fail[0] = False, False
    invocation_id = (await talk.stored())[0].invocation_id
    error = await talk.fails(None, invocation_id=invocation_id)
    assert isinstance(error, ToolInDoubtError) and len(desk.keys) == 1


def is_cut(event: Event) -> bool:
    return "ostinato:cut" in (event.custom_metadata or {})


async def test_one_event_notes_the_cut_call(store: Store, how: str) -> None:
    desk = Desk()
    talk = Talk(desk.line(), store)
    await cut(talk, desk.begun, how)
    (noted,) = [event for event in await talk.stored() if is_cut(event)]
    assert noted.node_info.path.endswith("pay@1") and noted.content is None
    assert noted.author == "flow" and noted.error_code is None
