"""Going on with what a dead process left: its open invocation, and messages nobody waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.durable.process_identity import host_identity
from ostinato.errors import LeaseLostError
from ostinato.events import Event
from ostinato.execution.recovery import blockers as ahead
from ostinato.execution.tree_digest import tree_digest
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.store.durable_store import Claim, InboxMessage, JournalRow
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import LongRunningFunctionTool
from tests.support.optionals import present
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to, check_paired
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_busy_sessions import words

DEAD = f"{host_identity()}|1|never"  # the first process of the host started at another time
AWAY = "elsewhere|boot|ns|1|1"


def said(text: str, invocation_id: str = "e-left") -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(author="user", invocation_id=invocation_id, content=content)


async def left_open(
    owner: Owner, *, process: str = DEAD, seconds: float = 60.0, attempts: int = 1, **claim: Any
) -> None:
    """Leave an invocation as a process does that dies after its first commit."""
    session = await owner.service.create_session(app_name="talk", user_id=USER, session_id=SESSION)
    claim.setdefault("digest", tree_digest(LlmAgent(name="root", model=ScriptedModel([]))))
    for number in range(attempts):
        gone = f"gone {number}"
        wish = Claim(gone, process, seconds, "e-left", over=number or None, **claim)
        await owner.service.append(session, [said("left")] if not number else [], claim=wish)


OPEN_CALLS = {
    "one": ["pay"],
    "two, of which one is answered": ["note", "pay"],
}


async def left_in_a_call(service: Any, names: list[str], answered: int | None = None) -> None:
    """Leave an invocation as processes do that die, each in turn, while its last tool runs.

    The calls before it have their response in the log, or, past the number `answered`, a result in
    the journal only.
    """
    answered = len(names) - 1 if answered is None else answered
    session = await service.create_session(app_name="talk", user_id=USER, session_id=SESSION)
    digest = tree_digest(LlmAgent(name="root", model=ScriptedModel([]), tools=[pay, note]))
    calls = [types.FunctionCall(id=f"id of {name}", name=name, args={}) for name in names]
    content = types.Content(role="model", parts=[types.Part(function_call=c) for c in calls])
    events = [said("left"), Event(author="root", invocation_id="e-left", content=content)]
    for one in calls[:answered]:
        content = answer_to(one, {"result": "ok"})
        events.append(Event(author="root", invocation_id="e-left", content=content))
    result = json.dumps({"response": {"result": "kept"}, "actions": {}, "rerun": []})
    rows = [JournalRow("e-left", "id of pay", "started", "pay")]
    rows += [
        JournalRow("e-left", one.id or "", "finished", one.name or "", result)
        for one in calls[answered:-1]
    ]
    for number in range(3):
        wish = Claim(f"gone {number}", DEAD, 60.0, "e-left", digest, over=number or None)
        await service.append(session, [] if number else events, [] if number else rows, claim=wish)


def pay() -> str:
    """Pay."""
    raise AssertionError("what is stuck is not called again")


def note() -> str:
    """Note."""
    raise AssertionError("what is stuck is not called again")


async def outcomes(owner: Owner) -> list[tuple[str, str]]:
    found = await owner.last.runner.resume_open()
    return [(each.invocation_id, each.outcome) for each in found]


async def test_an_invocation_of_a_dead_process_is_gone_on_with_at_once(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one)
    talk = two.talk(["Here I am."])
    assert await outcomes(two) == [("e-left", "finished")]
    assert words(await talk.stored()) == ["left", "Here I am."]
    assert await outcomes(two) == []
    await talk.runner.close()
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""


async def test_one_of_another_host_is_left_alone_until_its_lease_ends(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one, process=AWAY)
    two.talk(["Here I am."])
    assert await outcomes(two) == []


async def test_an_ended_lease_is_taken_over(two_owners: list[Owner]) -> None:
    one, two = two_owners
    await left_open(one, process=AWAY, seconds=-1.0)
    two.talk(["Here I am."])
    assert await outcomes(two) == [("e-left", "finished")]


async def test_a_new_message_first_has_the_open_invocation_finished(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one)
    talk = two.talk(["To the old one.", "To the new one."])
    assert final_text(await talk.say("new")) == "To the new one."
    assert words(await talk.stored()) == ["left", "To the old one.", "new", "To the new one."]


async def test_what_kills_its_process_again_and_again_is_parked(two_owners: list[Owner]) -> None:
    one, two = two_owners
    await left_open(one, attempts=3)
    talk = two.talk(["To the new one.", "To the stuck one."])
    (stuck,) = await talk.runner.resume_open()
    assert stuck.outcome == "stuck" and "3 times" in stuck.reason
    (lease,) = await two.service.open_leases(stuck=True)
    assert lease.invocation_id == "e-left" and lease.stuck == stuck.reason
    assert await outcomes(two) == []
    assert final_text(await talk.say("new")) == "To the new one."
    assert words(await talk.stored()) == ["left", "new", "To the new one."]


@pytest.mark.parametrize("calls", OPEN_CALLS)
@pytest.mark.parametrize("settled", [True, False], ids=["at a start", "by the next message"])
async def test_a_parked_invocation_with_an_open_call_leaves_every_request_valid(
    store: Store, calls: str, settled: bool
) -> None:
    if isinstance(store.service, InMemorySessionService):
        store.service.shared = True  # as if its memory outlived those who died
    await left_in_a_call(store.service, OPEN_CALLS[calls])
    model = ScriptedModel([])
    talk = Talk(LlmAgent(name="root", model=model, tools=[pay, note]), store)
    if settled:
        (stuck,) = await talk.runner.resume_open()
        assert stuck.outcome == "stuck"
    for text in ("new", "newer"):
        model.add(f"To the {text} one.")
        assert final_text(await talk.say(text)) == f"To the {text} one."
        assert model.requests[-1].texts[-1] == text
        check_paired(model.requests[-1].contents)
    told = [r for e in await talk.check_sound() for r in e.get_function_responses()]
    assert [r.name for r in told] == OPEN_CALLS[calls]
    assert "outcome is unknown" in (told[-1].response or {})["error"]


async def test_a_finished_call_of_a_parked_invocation_keeps_its_result(store: Store) -> None:
    """Of two calls the first has its result in the journal only; the second died."""
    if isinstance(store.service, InMemorySessionService):
        store.service.shared = True  # as if its memory outlived those who died
    await left_in_a_call(store.service, ["note", "pay"], answered=0)
    model = ScriptedModel([])
    talk = Talk(LlmAgent(name="root", model=model, tools=[pay, note]), store)
    model.add("To the new one.")
    assert final_text(await talk.say("new")) == "To the new one."
    check_paired(model.requests[-1].contents)
    told = {
        r.name: r.response for e in await talk.check_sound() for r in e.get_function_responses()
    }
    assert told["note"] == {"result": "kept"}
    assert "outcome is unknown" in (told["pay"] or {})["error"]


async def test_who_dies_while_parking_leaves_it_to_be_parked(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agents have changed, and the next process has to see that too."""
    one, two = two_owners
    await left_open(one, digest="other agents")

    async def die(*_: Any) -> None:
        raise LeaseLostError("dead")

    with monkeypatch.context() as patch:
        patch.setattr(one.service, "park", die)
        one.talk(["Never."])
        assert await outcomes(one) == [("e-left", "taken")]
    two.talk(["Never."])
    monkeypatch.setattr(ahead, "is_dead", lambda process: process != "")
    assert await outcomes(two) == [("e-left", "stuck")]


async def test_a_parked_invocation_is_passed_by_though_others_have_spoken_since(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_in_a_call(one.service, ["pay"])
    talk = two.talk(["To the new one."], [pay, note])
    assert await outcomes(two) == [("e-left", "stuck")]
    session = present(
        await one.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    )
    await one.service.append_event(session, Event(author="front", invocation_id="e-front"))
    assert final_text(await talk.say("new")) == "To the new one."
    check_paired(two.last.runner.agent.model.requests[-1].contents)
    told = [r for e in await talk.check_sound() for r in e.get_function_responses()]
    assert [(r.name, list(r.response or {})) for r in told] == [("pay", ["error"])]


async def test_a_parked_invocation_is_passed_by_by_an_answer_to_another_one(
    two_owners: list[Owner],
) -> None:
    def order() -> dict[str, str]:
        """Order."""
        return {"status": "pending"}

    one, two = two_owners
    talk = two.talk([call("order"), "Ordered.", "It is here."], [])
    talk.runner.agent.tools = [LongRunningFunctionTool(order), pay]
    asked = [c for e in await talk.say("order") for c in e.get_function_calls()]
    session = present(
        await one.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    )
    paying = types.FunctionCall(id="id of pay", name="pay", args={})
    content = types.Content(role="model", parts=[types.Part(function_call=paying)])
    events = [said("left"), Event(author="root", invocation_id="e-left", content=content)]
    await one.service.append(session, events, claim=Claim("gone", DEAD, 60.0, "e-left", "other"))
    assert await outcomes(two) == [("e-left", "stuck")]
    assert final_text(await talk.answer(asked[0], {"box": 1})) == "It is here."
    check_paired(talk.runner.agent.model.requests[-1].contents)
    log = await talk.check_sound()
    told = [r for e in log for r in e.get_function_responses() if r.name == "pay"]
    assert ["outcome is unknown" in (r.response or {})["error"] for r in told] == [True]


async def test_one_whose_agents_have_changed_is_parked_and_resumed_when_asked_for(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one, digest="of another tree")
    talk = two.talk(["To the left one."])
    (stuck,) = await talk.runner.resume_open()
    assert stuck.outcome == "stuck" and "agents have changed" in stuck.reason
    place: dict[str, Any] = {"user_id": USER, "session_id": SESSION}
    events = [e async for e in talk.runner.run_async(**place, invocation_id="e-left")]
    assert final_text(events) == "To the left one."
    assert await two.service.open_leases(stuck=True) == []


async def test_who_resumes_an_abandoned_invocation_gets_what_that_stores(
    two_owners: list[Owner],
) -> None:
    def ask() -> dict[str, str]:
        """Ask."""
        return {"status": "pending"}

    one, two = two_owners
    talk = two.talk([call("ask"), "I asked.", "The end."])
    talk.runner.agent.tools = [LongRunningFunctionTool(ask)]
    await left_open(one, digest=tree_digest(talk.runner.agent))
    place: dict[str, Any] = {"user_id": USER, "session_id": SESSION}
    events = [e async for e in talk.runner.run_async(**place, invocation_id="e-left")]
    assert [e.id for e in events] == [e.id for e in (await talk.stored())[1:]]
    assert [len(e.get_function_responses()) for e in events] == [0, 1, 0]
    answer = answer_to(events[0].get_function_calls()[0], {"result": "yes"})
    assert final_text(await talk.say(answer)) == "The end."


async def test_the_error_of_a_resumed_run_is_on_record_and_does_not_stop_the_others(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await left_open(one)
    payload = '{"message": {"role": "user", "parts": [{"text": "waiting"}]}}'
    await one.service.put_message(PLACE, InboxMessage("e-next", "", "", payload), 0.0)
    talk = two.talk([ValueError("no luck"), "To the waiting one."])
    assert await outcomes(two) == [("e-left", "failed"), ("e-next", "finished")]
    log = await talk.stored()
    assert [e.error_code for e in log if e.error_code] == ["ValueError"]
    assert words(log) == ["left", "waiting", "To the waiting one."]


async def test_a_message_that_cannot_be_run_does_not_stand_in_the_way(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    talk = two.talk(["To mine."])
    await one.service.create_session(app_name="talk", user_id=USER, session_id=SESSION)
    answer = {"function_response": {"id": "unknown", "name": "pay", "response": {}}}
    payload = json.dumps({"message": {"role": "user", "parts": [answer]}})
    await one.service.put_message(PLACE, InboxMessage("e-bad", "", "", payload), 0.0)
    assert final_text(await talk.say("mine")) == "To mine."
    assert words(await talk.stored()) == ["mine", "To mine."]


async def test_a_zombie_adds_nothing_and_starts_nothing(two_owners: list[Owner]) -> None:
    """An owner that was taken over while its model thought learns of it before its next effect."""
    one, two = two_owners
    effects: list[str] = []

    def pay() -> str:
        """Pay."""
        effects.append("paid")
        return "ok"

    talk = one.talk([call("pay"), "Never said."], [pay])
    run = talk.run("first")

    async def take_over(*_: Any, **__: Any) -> None:
        lease = await two.service.lease(PLACE)
        assert lease is not None
        session = await two.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
        assert session is not None
        wish = Claim("other", "", 60.0, lease.invocation_id, "d", over=lease.token)
        await two.service.append(session, [], claim=wish)

    talk.runner.agent.before_model_callback = take_over  # type: ignore[attr-defined]
    with pytest.raises(LeaseLostError):
        async for _ in run:
            pass
    assert effects == []
    assert words(await talk.stored()) == ["first"]
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.owner == "other"


async def test_a_lease_is_given_back_where_the_store_is_closed_right_after_the_run(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    await one.talk(["Done."]).say()
    await one.service.close()
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""
