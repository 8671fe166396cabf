"""Nodes that ask people: the run pauses, the answer goes on with it, bad answers are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.apps import App
from ostinato.errors import (
    CallAlreadyAnsweredError,
    InputValidationError,
    RequestWithdrawnError,
    RunCancelledError,
)
from ostinato.events import Event
from ostinato.events.request_input import RequestInput
from ostinato.sessions.log.event_log import EventRecord
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow, node
from ostinato.workflow.requests import is_request
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.workflow.kit import asked, gives, lines, shows


def asks(name: str = "ask", **request: Any) -> FunctionNode:
    def ask(node_input: Any) -> RequestInput:
        return RequestInput(**request)

    return FunctionNode(func=ask, name=name)


def talk(store: Store, *edges: Any) -> Talk:
    return Talk(App(name="talk", root_agent=Workflow(name="flow", edges=list(edges))), store)


def reply(call_id: str, response: dict[str, Any]) -> types.Content:
    given = types.FunctionResponse(id=call_id, name="adk_request_input", response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


@pytest.mark.spec(217)
async def test_a_run_pauses_and_the_answer_is_the_node_s_output(store: Store) -> None:
    ran: list[str] = []

    def quiet(node_input: Any) -> None:
        ran.append("quiet")

    one = talk(store, (START, gives("a"), quiet, asks(message="Sure?"), shows()))
    first = await one.say()
    (call,) = asked(first)
    assert first[-1].long_running_tool_ids == {call.id} and call.args["message"] == "Sure?"
    second = await one.say(reply(call.id, {"result": "yes"}))
    assert lines(second) == ["flow@1/show@1 = \"show got 'yes'\""] and ran == ["quiet"]
    assert {e.invocation_id for e in await one.stored()} == {first[0].invocation_id}


async def test_an_answer_with_an_idempotency_key_is_refused_before_any_node_runs_again(
    store: Store,
) -> None:
    ran: list[str] = []

    def quiet(node_input: Any) -> None:
        ran.append("quiet")

    one = talk(store, (START, quiet, asks(message="Sure?"), shows()))
    (call,) = asked(await one.say())
    before = [event.id for event in await one.stored()]
    answer = reply(call.id, {"result": "yes"})
    with pytest.raises(InputValidationError, match="send it without an idempotency key"):
        async for _ in one.runner.run_async(
            user_id=USER, session_id=SESSION, new_message=answer, idempotency_key="k"
        ):
            pass
    assert [event.id for event in await one.stored()] == before and ran == ["quiet"]
    assert lines(await one.say(answer)) == ["flow@1/show@1 = \"show got 'yes'\""]
    assert ran == ["quiet"]


@pytest.mark.spec(217)
async def test_branches_stay_as_they_were_when_a_fan_goes_on(store: Store) -> None:
    one = talk(
        store,
        (START, asks("one", interrupt_id="q1"), shows("s1")),
        (START, asks("two", interrupt_id="q2"), shows("s2")),
    )
    await one.say()
    assert lines(await one.say(reply("q1", {"result": 1}))) == ['flow@1/s1@1 [one@1] = "s1 got 1"']


@pytest.mark.spec(217)
async def test_an_answer_that_nobody_waits_for_is_refused(store: Store) -> None:
    one = talk(store, (START, asks(interrupt_id="q"), shows()))
    await one.say()
    await one.say(reply("q", {"result": 1}))
    before = len(await one.stored())
    error = await one.fails(reply("q", {"result": 2}))
    assert isinstance(error, CallAlreadyAnsweredError) and error.answer == {"result": 1}
    assert len(await one.stored()) == before


@pytest.mark.spec(217)
async def test_a_request_of_a_node_that_failed_is_withdrawn(store: Store) -> None:
    async def ask(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="q")
        raise ValueError("boom")

    one = talk(store, (START, ask))
    assert isinstance(await one.fails(), ValueError)
    error = await one.fails(reply("q", {"result": 2}))
    assert isinstance(error, RequestWithdrawnError) and "flow@1/ask@1 was withdrawn" in str(error)


@pytest.mark.spec(217)
async def test_an_answer_of_the_wrong_type_is_refused_and_may_be_given_again(store: Store) -> None:
    one = talk(store, (START, asks(interrupt_id="q", response_schema=int), shows()))
    await one.say()
    error = await one.fails(reply("q", {"result": "many"}))
    assert isinstance(error, InputValidationError) and "node flow@1/ask@1" in str(error)
    assert lines(await one.say(reply("q", {"result": "7"}))) == ['flow@1/show@1 = "show got 7"']


@pytest.mark.spec(217)
async def test_a_sibling_that_raises_leaves_the_request_open(store: Store) -> None:
    tries: list[int] = []

    async def fail(node_input: Any) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("boom")
        return "well"

    chain = (START, (asks(interrupt_id="q"), FunctionNode(func=fail)), JoinNode(name="j"))
    one = talk(store, chain)
    assert isinstance(await one.fails(), ValueError)
    last = (await one.say(reply("q", {"result": 1})))[-1]
    assert last.output == {"ask": 1, "fail": "well"}


@pytest.mark.spec(217)
async def test_a_node_that_is_run_again_asks_once_only(store: Store) -> None:
    seen: list[dict[str, Any]] = []

    @node(rerun_on_resume=True)
    async def ask(ctx: Any, node_input: Any) -> Any:
        seen.append(dict(ctx.resume_inputs))
        for each in ("q1", "q2"):
            if each not in ctx.resume_inputs:
                yield RequestInput(interrupt_id=each)
        if len(ctx.resume_inputs) == 2:
            yield sorted(ctx.resume_inputs.items())

    one = talk(store, (START, ask))
    assert len(asked(await one.say())) == 2
    assert await one.say(reply("q1", {"result": 1})) == []
    last = await one.say(reply("q2", {"result": 2}))
    assert last[-1].output == [["q1", 1], ["q2", 2]]
    assert seen == [{}, {"q1": 1}, {"q1": 1, "q2": 2}]


@pytest.mark.spec(217)
async def test_nodes_below_a_node_are_not_run_again(store: Store) -> None:
    worked: list[Any] = []

    def work(node_input: Any) -> Any:
        worked.append(node_input)
        return node_input

    ask = asks(interrupt_id="q")

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        given = await ctx.run_node(work, 1)
        return [given, await ctx.run_node(ask, 2), await ctx.run_node(work, 3)]

    one = talk(store, (START, parent))
    await one.say()
    assert (await one.say(reply("q", {"result": "yes"})))[-1].output == [1, "yes", 3]
    assert worked == [1, 3]


@pytest.mark.spec(217)
async def test_workers_wait_each_for_its_own_answer(store: Store) -> None:
    async def each(node_input: int) -> Any:
        if node_input % 2:
            yield RequestInput(interrupt_id=f"q{node_input}")
        else:
            yield node_input

    one = talk(store, (START, gives("list", [1, 2, 3]), node(each, parallel_worker=True), shows()))
    await one.say()
    assert await one.say(reply("q3", {"result": "three"})) == []
    last = await one.say(reply("q1", {"result": "one"}))
    assert last[-1].output == "show got ['one', 2, 'three']"


@pytest.mark.spec(217)
async def test_a_new_message_begins_anew_and_the_old_request_stays(store: Store) -> None:
    one = talk(store, (START, asks(), shows()))
    (first,) = asked(await one.say())
    (second,) = asked(await one.say("Something else"))
    assert first.id != second.id
    last = await one.say(reply(first.id, {"result": 1}))
    assert last[-1].output == "show got 1"


@pytest.mark.spec(217)
async def test_a_request_that_was_rewound_is_withdrawn(store: Store) -> None:
    one = talk(store, (START, asks(interrupt_id="q")))
    events = await one.say()
    await one.runner.rewind_async(
        user_id="ann", session_id="one", rewind_before_invocation_id=events[0].invocation_id
    )
    error = await one.fails(reply("q", {"result": 1}))
    assert isinstance(error, RequestWithdrawnError) and "rewound" in str(error)


@pytest.mark.spec(217)
async def test_the_request_says_what_the_form_is(memory: Store) -> None:
    request = RequestInput(message="How many?", response_schema=list[int], payload={"k": 1})
    call = request.part().function_call
    assert call is not None and call.id == request.interrupt_id and call.args is not None
    assert call.args["response_schema"] == {"items": {"type": "integer"}, "type": "array"}
    schema = types.Schema(type=types.Type.STRING)
    made = RequestInput(response_schema=schema).part().function_call
    assert made is not None and made.args is not None
    assert made.args["response_schema"] == {"type": "string"}
    assert isinstance(Event(), Event)


@pytest.mark.spec(217)
async def test_a_node_that_waits_is_not_run_again_for_the_answer_to_another(store: Store) -> None:
    ran: list[Any] = []

    @node(rerun_on_resume=True)
    async def asks_twice(ctx: Any, node_input: Any) -> Any:
        ran.append(ctx.run_id)
        if len(ctx.resume_inputs) < 2:
            return RequestInput(message=f"{ctx.run_id}?")
        return list(ctx.resume_inputs.values())

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        ran.append("parent")
        runs = (ctx.run_node(asks_twice, run_id=name) for name in ("b1", "b2"))
        return await asyncio.gather(*runs)

    one = talk(store, (START, (parent, asks_twice)))
    calls = {call.args["message"]: call for call in asked(await one.say())}
    assert sorted(calls) == ["1?", "b1?", "b2?"] and sorted(ran) == ["1", "b1", "b2", "parent"]
    invocation_id = one.seen[0].invocation_id

    for answer, again in (("b1?", ["parent", "b1"]), ("1?", ["1"]), ("b2?", ["parent", "b2"])):
        ran.clear()
        reply_to = reply(calls[answer].id, {"result": answer})
        events = await one.say(reply_to, invocation_id=invocation_id)
        assert ran == again
        (calls[answer],) = asked(events)  # the second request of that node alone
    ran.clear()
    await one.say(reply(calls["b2?"].id, {"result": "b2!"}))
    assert ran == ["parent", "b2"]
    last = await one.say(reply(calls["b1?"].id, {"result": "b1!"}))
    assert last[-1].output == [["b1?", "b1!"], ["b2?", "b2!"]]


@pytest.mark.parametrize(
    ("args", "is_node"), [({"interruptId": "r"}, True), ({"payload": {"interruptId": "r"}}, False)]
)
def test_the_request_of_a_node_is_known_by_its_arguments(
    args: dict[str, Any], is_node: bool
) -> None:
    call = types.FunctionCall(id="r", name="adk_request_input", args=args)
    content = types.Content(role="model", parts=[types.Part(function_call=call)])
    event = Event(author="root", content=content, long_running_tool_ids={"r"})
    assert is_request(EventRecord.of(event)) is is_node


class Slow:
    """A node that waits in its first run, until it is cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def node(self, *, speaks: bool = False) -> FunctionNode:
        async def slow(node_input: Any) -> Any:
            if not self.begun.is_set():
                if speaks:
                    yield Event(message="begun")
                self.begun.set()
                await asyncio.Event().wait()
            yield f"slow got {node_input!r}"

        return FunctionNode(func=slow, name="slow")


async def cancel_answered(one: Talk, slow: Slow, message: types.Content) -> None:
    """Answer, and cancel the run within the slow node."""
    run = one.runner.start(user_id=USER, session_id=SESSION, new_message=message)
    await slow.begun.wait()
    assert await run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()


async def waiting(one: Talk) -> list[str]:
    """Return the ids of the calls in the inbox."""
    return [
        each.request.call_id for each in (await one.store.service.open_requests("talk")).requests
    ]


async def test_an_answer_whose_run_is_cancelled_can_be_given_again(store: Store) -> None:
    slow = Slow()
    one = talk(store, (START, asks(interrupt_id="q", response_schema=int), slow.node(), shows()))
    await one.say()
    await cancel_answered(one, slow, reply("q", {"result": 1}))
    assert await waiting(one) == ["q"]
    again = await one.say(reply("q", {"result": 2}))
    assert lines(again)[-1] == "flow@1/show@1 = \"show got 'slow got 2'\""
    assert await waiting(one) == []
    error = await one.fails(reply("q", {"result": 3}))
    assert isinstance(error, CallAlreadyAnsweredError) and error.answer == {"result": 2}


async def test_only_the_answer_that_was_cancelled_is_asked_for_again(store: Store) -> None:
    slow, heard = Slow(), list[Any]()

    def quiet(node_input: Any) -> None:
        heard.append(node_input)

    one = talk(
        store,
        (START, asks("one", interrupt_id="q1"), shows("s1")),
        (START, asks("two", interrupt_id="q2"), slow.node(), quiet),
    )
    await one.say()
    assert lines(await one.say(reply("q1", {"result": 1})))[-1].endswith('"s1 got 1"')
    await cancel_answered(one, slow, reply("q2", {"result": 2}))
    assert await waiting(one) == ["q2"]
    await one.say(reply("q2", {"result": 3}))
    assert heard == ["slow got 3"]
    assert [line for line in lines(await one.stored()) if "s1@" in line] == [
        'flow@1/s1@1 [one@1] = "s1 got 1"'
    ]


async def test_a_question_whose_answer_a_node_has_used_is_not_asked_again(store: Store) -> None:
    slow = Slow()
    one = talk(store, (START, asks(interrupt_id="q"), slow.node(speaks=True)))
    (first, *_) = await one.say()
    await cancel_answered(one, slow, reply("q", {"result": 1}))
    assert await waiting(one) == []
    events = [
        e
        async for e in one.runner.run_async(
            user_id=USER, session_id=SESSION, invocation_id=first.invocation_id
        )
    ]
    assert lines(events)[-1].endswith('slow got 1"')


async def test_a_cancelled_answer_waits_again_after_a_resume_by_id(store: Store) -> None:
    slow = Slow()
    one = talk(store, (START, asks(interrupt_id="q"), slow.node()))
    (first, *_) = await one.say()
    await cancel_answered(one, slow, reply("q", {"result": 1}))
    resumed = one.runner.run_async(
        user_id=USER, session_id=SESSION, invocation_id=first.invocation_id
    )
    assert [event async for event in resumed] == []
    assert await waiting(one) == ["q"]
    assert lines(await one.say(reply("q", {"result": 2})))[-1].endswith('slow got 2"')
