"""Calls that a person decided, in an invocation that is parked before they have a result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ostinato import types
from ostinato.durable.process_identity import host_identity
from ostinato.events import Event
from ostinato.sessions.log.call_requests import claims_of_event
from ostinato.sessions.session import Session
from ostinato.sessions.store.durable_store import Claim, JournalRow
from ostinato.testing import call, final_text
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from tests.unit.flows.kit import SESSION, USER, Talk, answer_to, check_paired
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners

DEAD = f"{host_identity()}|1|never"
UNKNOWN = {"error": "The run stopped before this call was answered; its outcome is unknown."}
NOT_RUN = {
    "error": "The run stopped after the user had answered and before this call began; "
    "it did not run."
}
UNCONFIRMED = {"error": "This tool call requires confirmation, please approve or reject."}
ASKED_AGAIN = {
    "error": "The process stopped while this call was running, so it may have taken effect "
    "already. It requires confirmation to run again, please approve or reject."
}
REJECTED = {"error": "This tool call is rejected."}


class Bank:
    """An agent that asks before it pays; the process dies after the first decision."""

    def __init__(self, owner: Owner, amounts: Sequence[int] = (5,), **options: Any) -> None:
        self.paid: list[int] = []
        self.owner = owner
        self.talk: Talk = owner.talk([[call("pay", amount=amount) for amount in amounts]])
        self.model = self.talk.runner.agent.model
        self.talk.runner.agent.tools = [self._pay_tool(**options)]

    def _pay_tool(self, long_running: bool = False) -> FunctionTool:
        def pay(amount: int) -> dict[str, Any]:
            """Pay."""
            self.paid.append(amount)
            return {"paid": amount}

        tool = LongRunningFunctionTool if long_running else FunctionTool
        return tool(pay, require_confirmation=True)

    async def ask(self) -> list[types.FunctionCall]:
        """Return the requests for confirmation."""
        calls = _calls(await self.talk.say("Pay."))
        return [one for one in calls if one.name == "adk_request_confirmation"]

    async def load_session(self) -> Session:
        session = await self.owner.service.get_session(
            app_name="talk", user_id=USER, session_id=SESSION
        )
        assert session is not None
        return session

    async def die_after(
        self,
        request: types.FunctionCall,
        status: Any = "",
        *,
        confirmed: bool = True,
        own_invocation: bool = False,
        result: str | None = None,
    ) -> str:
        """Decide as a process does that dies before the result is stored; park the invocation.

        Returns:
          The parked invocation.
        """
        original = (request.args or {})["originalFunctionCall"]["id"]
        service, session = self.owner.service, await self.load_session()
        invocation_id = "e-own" if own_invocation else session.events[0].invocation_id
        content = answer_to(request, {"confirmed": confirmed})
        event = Event(author="user", invocation_id=invocation_id, content=content)
        key = original if own_invocation else f"{original}#1"
        rows = [JournalRow(invocation_id, key, status, "pay", result)] if status else []
        claim = Claim("gone", DEAD, 60.0, invocation_id, "other agents")
        changes = claims_of_event(session, event)
        await service.append(session, [event], rows, claim=claim, changes=changes)
        (parked,) = await self.talk.runner.resume_open()
        assert (parked.invocation_id, parked.outcome) == (invocation_id, "stuck")
        return invocation_id

    async def say(self, message: Any = "Hello.", **options: Any) -> list[Any]:
        """Talk on, and return what the model is told of its payments."""
        self.model.add("Well.")
        assert final_text(await self.talk.say(message, **options)) == "Well."
        contents = self.model.requests[-1].contents
        check_paired(contents)
        given = [p.function_response for c in contents for p in c.parts or ()]
        return [one.response for one in given if one is not None and one.name == "pay"]

    async def stored(self) -> list[Any]:
        """Return the stored responses of the payments after the first round."""
        log = await self.talk.stored()
        found = [one.response for event in log for one in event.get_function_responses()]
        asked = (UNCONFIRMED, ASKED_AGAIN)
        return [one for one in found if one not in asked and "confirmed" not in (one or {})]


async def test_a_call_that_began_has_an_unknown_outcome(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    await bank.die_after(request, "started")
    assert await bank.say() == [UNKNOWN]
    assert await bank.say("And now?") == [UNKNOWN]
    assert await bank.stored() == [UNKNOWN] and bank.paid == []


@pytest.mark.parametrize(
    ("confirmed", "told"), [(True, NOT_RUN), (False, REJECTED)], ids=["approved", "rejected"]
)
async def test_a_call_that_never_began_did_not_run(
    two_owners: list[Owner], confirmed: bool, told: dict[str, str]
) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    await bank.die_after(request, confirmed=confirmed)
    assert await bank.say() == [told]
    assert await bank.stored() == [told] and bank.paid == []


async def test_a_call_that_finished_has_its_result(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    result = json.dumps({"response": {"paid": 5}, "actions": {}, "rerun": []})
    await bank.die_after(request, "finished", result=result)
    assert await bank.say() == [{"paid": 5}]
    assert await bank.stored() == [{"paid": 5}] and bank.paid == []


async def test_a_call_in_doubt_that_was_approved_again_has_an_unknown_outcome(
    two_owners: list[Owner],
) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    parked = await bank.die_after(request, "started")
    asked = _calls(await bank.talk.say(None, invocation_id=parked))
    assert [one.name for one in asked] == ["adk_request_confirmation"]
    await bank.die_after(asked[0])
    assert await bank.say() == [UNKNOWN]
    assert await bank.stored() == [UNKNOWN] and bank.paid == []


async def test_the_model_is_told_that_a_call_that_is_asked_again_may_have_run(
    two_owners: list[Owner],
) -> None:
    bank = Bank(two_owners[0], (5, 7))
    first, second = await bank.ask()
    parked = await bank.die_after(first, "started")
    await bank.talk.say(None, invocation_id=parked)
    assert await bank.say(answer_to(second, {"confirmed": True})) == [ASKED_AGAIN, {"paid": 7}]
    assert bank.paid == [7]


@pytest.mark.parametrize("status", ["started", ""], ids=["began", "never began"])
async def test_the_answer_to_another_call_of_the_parked_invocation(
    two_owners: list[Owner], status: str
) -> None:
    bank = Bank(two_owners[0], (5, 7))
    first, second = await bank.ask()
    await bank.die_after(first, status)
    told = UNKNOWN if status else NOT_RUN
    assert await bank.say(answer_to(second, {"confirmed": True})) == [told, {"paid": 7}]
    assert await bank.say() == [told, {"paid": 7}]
    assert await bank.stored() == [told, {"paid": 7}] and bank.paid == [7]


async def test_a_decision_under_an_idempotency_key(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    await bank.die_after(request, "started", own_invocation=True)
    assert await bank.say() == [UNKNOWN]
    assert await bank.stored() == [UNKNOWN] and bank.paid == []


async def test_a_resume_of_another_invocation(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    content = types.Content(role="user", parts=[types.Part(text="Another.")])
    other = Event(author="user", invocation_id="e-other", content=content)
    await two_owners[0].service.append_event(await bank.load_session(), other)
    await bank.die_after(request, "started")
    await bank.say(None, invocation_id="e-other")
    assert await bank.say() == [UNKNOWN]
    assert await bank.stored() == [UNKNOWN] and bank.paid == []


async def test_a_resume_without_a_message_acts_on_the_decision(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    parked = await bank.die_after(request)
    assert await bank.say(None, invocation_id=parked) == [{"paid": 5}]
    assert await bank.stored() == [{"paid": 5}] and bank.paid == [5]


async def test_a_resume_after_a_message_runs_nothing(two_owners: list[Owner]) -> None:
    bank = Bank(two_owners[0])
    (request,) = await bank.ask()
    parked = await bank.die_after(request, "started")
    assert await bank.say() == [UNKNOWN]
    bank.model.add("Resumed.")
    await bank.talk.say(None, invocation_id=parked)
    assert await bank.stored() == [UNKNOWN] and bank.paid == []


@pytest.mark.parametrize("began", [True, False], ids=["began", "never began"])
async def test_a_long_running_call_waits_on_only_if_it_may_have_begun(
    two_owners: list[Owner], began: bool
) -> None:
    bank = Bank(two_owners[0], long_running=True)
    (request,) = await bank.ask()
    await bank.die_after(request, "started" if began else "")
    assert await bank.say() == [UNKNOWN if began else NOT_RUN]
    (original,) = [c for c in _calls(await bank.talk.stored()) if c.name == "pay"]
    page = await two_owners[0].service.open_requests("talk")
    assert (original.id in [one.request.call_id for one in page.requests]) is began


def _calls(log: list[Event]) -> list[types.FunctionCall]:
    return [one for event in log for one in event.get_function_calls()]
