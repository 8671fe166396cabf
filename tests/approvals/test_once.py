"""A call is answered once: the first answer counts, every later one is refused and runs nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import RunConfig
from ostinato.errors import (
    CallAlreadyAnsweredError,
    CallNotOpenError,
    InvalidAnswerError,
    RequestWithdrawnError,
)
from ostinato.events import Event
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import call, final_text
from ostinato.tools import LongRunningFunctionTool
from tests.approvals.kit import NAMES, PLACE, Desk, decide, make_hold, requests


async def test_the_same_answer_twice_runs_the_tool_once(desk: Desk) -> None:
    request = await desk.ask()
    await desk.say(decide(request))
    before = len(await desk.events())
    with pytest.raises(CallAlreadyAnsweredError) as caught:
        await desk.say(decide(request))
    assert desk.paid == [5]
    assert caught.value.call_id == request.id
    assert caught.value.answer == {"confirmed": True}
    assert caught.value.answered_at is not None
    assert len(await desk.events()) == before


async def test_of_answers_at_once_one_counts(desk: Desk) -> None:
    request = await desk.ask()
    found = await desk.outcomes(*(decide(request) for _ in range(5)))
    refused = [one for one in found if isinstance(one, CallAlreadyAnsweredError)]
    assert desk.paid == [5] and len(refused) == 4


async def test_of_different_answers_at_once_the_first_counts(desk: Desk) -> None:
    request = await desk.ask()
    found = await desk.outcomes(*(decide(request, choice) for choice in (True, False, True)))
    refused = [one for one in found if isinstance(one, CallAlreadyAnsweredError)]
    assert len(refused) == 2
    assert desk.paid == ([5] if refused[0].answer == {"confirmed": True} else [])


async def test_an_answer_that_waits_for_its_turn_counts_at_once(store: Any) -> None:
    """While another run has the session, its first answer is taken and the others are refused."""
    hold, entered, gate = make_hold()
    desk = Desk(store, call("pay", amount=5), call("hold"), "Held.", "Done.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    first = desk.runner.start(**PLACE, new_message=decide(request))
    await first.wait_until_accepted()
    assert not busy.done()
    for choice in (False, True):
        later = desk.runner.start(**PLACE, new_message=decide(request, choice))
        with pytest.raises(CallAlreadyAnsweredError):
            await later.wait_until_accepted()
    assert desk.paid == []
    gate.set()
    await busy
    await first.result()
    assert desk.paid == [5]


async def test_an_answer_that_is_taken_back_before_its_turn_leaves_the_call_open(
    store: Any,
) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(store, call("pay", amount=5), call("hold"), "Held.", "Done.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    first = desk.runner.start(**PLACE, new_message=decide(request, False))
    await first.wait_until_accepted()
    assert (await store.open_requests("desk")).requests == []
    assert await first.cancel()
    assert len((await store.open_requests("desk")).requests) == 1
    gate.set()
    await busy
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_message_of_several_answers_is_taken_as_a_whole_or_not_at_all(
    service: Any,
) -> None:
    both = types.Content(
        role="model",
        parts=[
            types.Part(function_call=types.FunctionCall(name="pay", args={"amount": number}))
            for number in (1, 2)
        ],
    )
    desk = Desk(service, both, "One.", "Done.")
    one, two = requests(await desk.say())
    await desk.say(decide(one))
    parts = [*(decide(two).parts or ()), *(decide(one, False).parts or ())]
    with pytest.raises(CallAlreadyAnsweredError):
        await desk.say(types.Content(role="user", parts=parts))
    assert desk.paid == [1]
    await desk.say(decide(two))
    assert desk.paid == [1, 2]


async def test_a_request_repeated_under_its_key_is_the_same_answer(desk: Desk) -> None:
    request = await desk.ask()
    events = [await desk.say(decide(request), idempotency_key="k") for _ in range(2)]
    assert desk.paid == [5]
    assert [one.id for one in events[0]] == [one.id for one in events[1]]


async def test_updates_of_a_long_running_tool_stay_allowed(service: Any) -> None:
    def order() -> None:
        """Order something."""

    desk = Desk(
        service, call("order"), "Wait.", "Soon.", "Done.", tools=[LongRunningFunctionTool(order)]
    )
    asked = (await desk.say("Order."))[0].get_function_calls()[0]
    for status in ("under way", "here"):
        answer = types.FunctionResponse(id=asked.id, name="order", response={"status": status})
        await desk.say(types.Content(role="user", parts=[types.Part(function_response=answer)]))
    told = [one.response for e in await desk.events() for one in e.get_function_responses()]
    assert told == [{"status": "under way"}, {"status": "here"}]


async def test_a_rewind_past_the_answer_opens_the_call_again(store: Any) -> None:
    desk = Desk(store, call("pay", amount=5), "Later.", "Done.", "Done again.")
    request = await desk.ask()
    other = (await desk.say("Wait."))[-1].invocation_id
    await desk.say(decide(request, False), idempotency_key="first")
    assert (await store.open_requests("desk")).requests == []
    await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=other)
    assert len((await store.open_requests("desk")).requests) == 1
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_rewind_past_the_request_withdraws_it(store: Any) -> None:
    desk = Desk(store)
    events = await desk.say()
    await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=events[0].invocation_id)
    assert (await store.open_requests("desk")).requests == []
    with pytest.raises(RequestWithdrawnError):
        await desk.say(decide(requests(events)[0]))
    assert desk.paid == []


async def test_a_fork_has_the_requests_of_its_events(store: Any) -> None:
    desk = Desk(store)
    request = await desk.ask()
    names = {**NAMES, "new_session_id": "twin"}
    await store.fork_session(**names)
    await desk.say(decide(request))
    waiting = (await store.open_requests("desk")).requests
    assert [one.place.session_id for one in waiting] == ["twin"]
    await store.fork_session(**{**NAMES, "new_session_id": "late"})
    assert [one.place.session_id for one in (await store.open_requests("desk")).requests] == [
        "twin"
    ]


async def test_a_fork_that_closes_requests_holds_no_authority(service: Any) -> None:
    desk = Desk(service)
    request = await desk.ask()
    await service.fork_session(**{**NAMES, "new_session_id": "twin"}, close_requests=True)
    with pytest.raises(CallNotOpenError, match="closed"):
        async for _ in desk.runner.run_async(
            user_id="ann", session_id="twin", new_message=decide(request)
        ):
            pass
    assert desk.paid == []
    if hasattr(service, "open_requests"):
        waiting = (await service.open_requests("desk")).requests
        assert [one.place.session_id for one in waiting] == ["one"]
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_fork_that_closes_requests_takes_no_result_of_a_long_running_function(
    service: Any,
) -> None:
    def order() -> dict[str, str]:
        """Order something."""
        return {"status": "ordered"}

    tool = LongRunningFunctionTool(order)
    desk = Desk(service, call("order"), "It is on its way.", "It is here.", tools=[tool])
    asked = next(one for e in await desk.say() for one in e.get_function_calls())
    answer = types.FunctionResponse(id=asked.id, name="order", response={"status": "here"})
    message = types.Content(role="user", parts=[types.Part(function_response=answer)])
    await service.fork_session(**{**NAMES, "new_session_id": "twin"}, close_requests=True)
    with pytest.raises(CallNotOpenError, match="closed"):
        async for _ in desk.runner.run_async(user_id="ann", session_id="twin", new_message=message):
            pass
    assert final_text(await desk.say(message)) == "It is here."


async def test_a_deleted_session_leaves_no_request(store: Any) -> None:
    desk = Desk(store)
    await desk.ask()
    await store.delete_session(**NAMES)
    assert (await store.open_requests("desk")).requests == []


async def test_an_answer_in_another_session_is_to_no_call(desk: Desk) -> None:
    request = await desk.ask()
    for place in ({**PLACE, "session_id": "two"}, {**PLACE, "user_id": "bob"}):
        with pytest.raises(CallNotOpenError):
            async for _ in desk.runner.run_async(**place, new_message=decide(request)):
                pass
    assert desk.paid == []
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_request_without_a_row_is_claimed_all_the_same(store: Any) -> None:
    """As google-adk wrote it, or a version before there were rows."""
    desk = Desk(store)
    events = await desk.say()
    copy = await store.create_session(**{**NAMES, "session_id": "old"})
    for event in [one for one in await desk.events() if one.author in ("user", "clerk")]:
        await store.append_event(copy, event)
    place = {**PLACE, "session_id": "old"}

    async def answer() -> Any:
        message = decide(requests(events)[0])
        try:
            return [e async for e in desk.runner.run_async(**place, new_message=message)]
        except CallAlreadyAnsweredError as error:
            return error

    found = await asyncio.gather(*(answer() for _ in range(3)))
    assert desk.paid == [5]
    assert sum(isinstance(one, CallAlreadyAnsweredError) for one in found) == 2


async def test_an_answer_that_a_program_stored_twice_runs_the_tool_once(service: Any) -> None:
    """A front end may store the answer itself and have the invocation resumed."""
    desk = Desk(service, call("pay", amount=5), "Done.", "Nothing more.")
    events = await desk.say()
    invocation_id = events[0].invocation_id
    for _ in range(2):
        session = await service.get_session(**NAMES)
        answer = decide(requests(events)[0])
        event = Event(author="user", invocation_id=invocation_id, content=answer)
        with suppress(CallAlreadyAnsweredError):
            await service.append_event(session, event)
        await desk.say(None, invocation_id=invocation_id)
    assert desk.paid == [5]


async def test_an_answer_that_a_program_stores_claims_the_call(store: Any) -> None:
    desk = Desk(store)
    request = await desk.ask()
    invocation_id = (await desk.events())[0].invocation_id

    def event(confirmed: bool) -> Event:
        content = decide(request, confirmed)
        return Event(author="user", invocation_id=invocation_id, content=content)

    first, session = event(True), await store.get_session(**NAMES)
    await store.append_event(session, first)
    await store.append_event(session, first)  # tried again, for its answer was lost
    assert (await store.open_requests("desk")).requests == []
    with pytest.raises(CallAlreadyAnsweredError) as caught:
        await store.append_event(await store.get_session(**NAMES), event(False))
    assert caught.value.answer == {"confirmed": True}
    with pytest.raises(CallAlreadyAnsweredError):
        await desk.say(decide(request))
    assert desk.paid == []
    await desk.say(None, invocation_id=invocation_id)
    assert desk.paid == [5]
    await desk.runner.rewind_async(**PLACE, rewind_before_invocation_id=invocation_id)


async def test_a_program_cannot_store_an_answer_beside_one_that_waits_for_its_turn(
    store: Any,
) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(store, call("pay", amount=5), call("hold"), "Held.", "Done.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    first = desk.runner.start(**PLACE, new_message=decide(request))
    await first.wait_until_accepted()
    event = Event(author="user", invocation_id="front", content=decide(request, False))
    with pytest.raises(CallAlreadyAnsweredError):
        await store.append_event(await store.get_session(**NAMES), event)
    gate.set()
    await busy
    await first.result()
    assert desk.paid == [5]


async def test_a_program_stores_each_update_of_a_long_running_function(store: Any) -> None:
    def order() -> None:
        """Order something."""

    tool = LongRunningFunctionTool(order)
    desk = Desk(store, call("order"), "It is on its way.", tools=[tool])
    asked = next(one for e in await desk.say() for one in e.get_function_calls())
    for status in ("packed", "sent"):
        answer = types.FunctionResponse(id=asked.id, response={"status": status})
        part = types.Part(function_response=answer)
        content = types.Content(role="user", parts=[part])
        event = Event(author="user", invocation_id="front", content=content)
        await store.append_event(await store.get_session(**NAMES), event)
    stored = [r.response for e in await desk.events() for r in e.get_function_responses()]
    assert stored[-2:] == [{"status": "packed"}, {"status": "sent"}]


async def test_a_refused_answer_interrupts_nothing(store: Any) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(store, call("pay", amount=5), "Done.", call("hold"), "Held.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    await desk.say(decide(request))
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    found = await desk.outcome(decide(request), run_config=RunConfig(on_busy="interrupt"))
    assert isinstance(found, CallAlreadyAnsweredError)
    gate.set()
    assert final_text(await busy) == "Held."


async def test_a_submitted_answer_is_claimed_before_anybody_runs_it(tmp_path: Path) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    desk = Desk(store)
    request = await desk.ask()
    await desk.runner.submit(**PLACE, new_message=decide(request))
    with pytest.raises(CallAlreadyAnsweredError):
        await desk.runner.submit(**PLACE, new_message=decide(request, False))
    await desk.runner.resume_open()
    assert desk.paid == [5]
    await store.close()


async def test_a_message_that_waits_for_its_turn_is_accepted_at_once(service: Any) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(service, call("hold"), "Held.", "Hello.", tools=[hold])
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    later = desk.runner.start(**PLACE, new_message="Hello?")
    await later.wait_until_accepted()
    assert not busy.done()
    gate.set()
    await busy
    assert (await later.result()).text == "Hello."


@pytest.mark.parametrize("decisions", [(False, True), (True, True), (True, False)])
async def test_a_program_cannot_answer_a_call_twice_in_one_event(
    service: Any, decisions: tuple[bool, bool]
) -> None:
    desk = Desk(service)
    request = await desk.ask()
    before = await desk.events()
    parts = [part for one in decisions for part in decide(request, one).parts or ()]
    event = Event(
        author="user",
        invocation_id=before[0].invocation_id,
        content=types.Content(role="user", parts=parts),
    )
    with pytest.raises(InvalidAnswerError, match="twice"):
        await service.append_event(await service.get_session(**NAMES), event)
    assert len(await desk.events()) == len(before)
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_of_two_answers_in_one_stored_event_the_first_counts() -> None:
    """A store that is not ours may have taken them."""
    store = InMemorySessionService()
    desk = Desk(store)
    request = await desk.ask()
    invocation_id = (await desk.events())[0].invocation_id
    parts = [part for one in (True, True) for part in decide(request, one).parts or ()]
    content = types.Content(role="user", parts=parts)
    event = Event(id="two", author="user", invocation_id=invocation_id, content=content)
    session = await store.get_session(**NAMES)
    assert session is not None
    await store.append(session, (event,))
    await desk.say(None, invocation_id=invocation_id)
    assert desk.paid == [5]


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"confirmed": "yes"},
        {"confirmed": 1},
        {"confirmed": None},
        {"confirmed": []},
        {"confirmed": {"a": 1}},
        {"response": '{"confirmed": "true"}'},
        {"confirmed": True, "args": "all"},
    ],
)
async def test_a_program_cannot_store_an_answer_that_decides_nothing(
    response: dict[str, Any],
) -> None:
    store = InMemorySessionService()
    desk = Desk(store)
    request = await desk.ask()
    answer = types.FunctionResponse(id=request.id, name=request.name, response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    await refuse(desk, content, InvalidAnswerError)
    await desk.say(decide(request))
    assert desk.paid == [5]


@pytest.mark.parametrize("name", ["pay", "adk_request_credential", "adk_request_input"])
async def test_a_program_cannot_store_an_answer_of_another_name(service: Any, name: str) -> None:
    desk = Desk(service)
    request = await desk.ask()
    await refuse(desk, decide(request, name=name), CallNotOpenError)
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_a_program_cannot_store_an_answer_in_another_invocation(service: Any) -> None:
    desk = Desk(service, call("pay", amount=5), "Yes?", "Done.")
    request = await desk.ask()
    other = (await desk.say("Hello."))[-1].invocation_id
    for invocation_id in (other, ""):
        await refuse(desk, decide(request), CallNotOpenError, invocation_id)
    await desk.say(decide(request))
    assert desk.paid == [5]


async def test_an_answer_that_a_program_stores_may_begin_an_invocation(service: Any) -> None:
    """As google-adk stores it in an app that is not resumable."""
    desk = Desk(service)
    event = Event(author="user", invocation_id="own", content=decide(await desk.ask()))
    await service.append_event(await service.get_session(**NAMES), event)
    for _ in range(2):
        await desk.say(None, invocation_id="own")
    assert desk.paid == [5]


async def refuse(
    desk: Desk,
    content: types.Content,
    error: type[Exception],
    invocation_id: str | None = None,
) -> None:
    """Have the session's store refuse a user's event; nothing of it is stored."""
    before = await desk.events()
    if invocation_id is None:
        invocation_id = before[0].invocation_id
    event = Event(author="user", invocation_id=invocation_id, content=content)
    with pytest.raises(error):
        await desk.service.append_event(await desk.service.get_session(**NAMES), event)
    assert len(await desk.events()) == len(before)
