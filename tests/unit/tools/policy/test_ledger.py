"""Counts and grants hold over processes that write at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato._clock import replace_sources
from ostinato.errors import StoreError
from ostinato.testing import FrozenClock
from ostinato.tools.policy import PolicyLedger, Rule
from ostinato.tools.policy.ledger import Caller
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners

ARGS: dict[str, Any] = {"amount": 10, "to": "ann"}


def rule(**limit: Any) -> Rule:
    return Rule.model_validate(
        {"id": "few", "verdict": "allow", "limit": {"count": 5, "per": "hour", **limit}}
    )


def caller(number: int, user: str = "ann", session: str = "one") -> Caller:
    return Caller("talk", user, session, f"call-{number}")


async def test_of_many_calls_in_two_processes_as_many_pass_as_the_limit_says(
    two_owners: list[Owner],
) -> None:
    ledgers = [PolicyLedger(owner.service) for owner in two_owners]
    taken = await asyncio.gather(
        *(ledgers[n % 2].take(rule(by="app"), caller(n, user=f"u{n % 3}"), ARGS) for n in range(24))
    )
    assert taken.count(True) == 5 and taken.count(False) == 19


async def test_a_call_counts_once_however_often_it_runs(two_owners: list[Owner]) -> None:
    first, second = (PolicyLedger(owner.service) for owner in two_owners)
    assert await first.take(rule(count=1), caller(1), ARGS) is True
    assert await second.take(rule(count=1), caller(1), ARGS) is None
    assert await second.take(rule(count=1), caller(2), ARGS) is False
    assert await second.take(rule(count=1), caller(2), ARGS, force=True) is True
    await first.give_back(rule(count=1), caller(1))
    await first.give_back(rule(count=1), caller(1))
    await second.give_back(rule(count=1), caller(2))
    assert await first.take(rule(count=1), caller(3), ARGS) is True


async def test_limits_count_users_and_sessions_apart(two_owners: list[Owner]) -> None:
    ledger = PolicyLedger(two_owners[0].service)
    for by, other in (("user", caller(2, user="bob")), ("session", caller(2, session="two"))):
        one = rule(count=1, by=by)
        assert await ledger.take(one, caller(1), ARGS) is True
        assert await ledger.take(one, other, ARGS) is True
        assert await ledger.take(one, caller(3), ARGS) is False


@pytest.mark.parametrize(
    ("most", "amounts", "taken"),
    [
        (0.3, [0.1, 0.1, "0.1", "0.00000000000000001"], [True, True, True, False]),
        (2**60, [2**60 - 1, "1", 1], [True, True, False]),
        (2**60 + 1, [str(2**60), 2, 1], [True, False, True]),
        (10**99, [10**99 - 1, 2, "1e400", 1], [True, False, False, True]),
    ],
)
async def test_sums_are_exact(
    two_owners: list[Owner], most: Any, amounts: list[Any], taken: list[bool]
) -> None:
    first, second = (PolicyLedger(owner.service) for owner in two_owners)
    budget = rule(count=None, sum="/amount", max=most)
    found = [
        await (first, second)[at % 2].take(budget, caller(at), {"amount": amount})
        for at, amount in enumerate(amounts)
    ]
    assert found == taken


@pytest.mark.parametrize("way", ["session", "user", "old"])
async def test_grants_for_a_session_end_with_it(two_owners: list[Owner], way: str) -> None:
    service, other = (owner.service for owner in two_owners)
    first, second = PolicyLedger(service), PolicyLedger(other)
    ask = Rule(id="ask", verdict="ask", grants=["session", "user"])
    place: dict[str, Any] = {"app_name": "talk", "user_id": "ann"}
    for name in ("one", "two"):
        await service.create_session(**place, session_id=name)
        await first.add_grant(ask, caller(1, session=name), "pay", ARGS, "session")
        assert await second.find_grant(ask, caller(2, session=name), "pay", ARGS) == "session"
    if way == "session":
        await service.delete_session(**place, session_id="one")
    elif way == "user":
        await service.delete_user("talk", "ann")
    else:
        assert await service.delete_sessions_before("talk", 1e11) > 0
    await other.create_session(**place, session_id="one")
    for ledger in (first, second):
        assert await ledger.find_grant(ask, caller(3), "pay", ARGS) is None
    left = "session" if way == "session" else None
    assert await second.find_grant(ask, caller(3, session="two"), "pay", ARGS) == left
    await second.add_grant(ask, caller(3), "pay", ARGS, "session")
    assert await first.find_grant(ask, caller(4), "pay", ARGS) == "session"
    assert await first.revoke_grants("talk", "ann") > 0
    assert await second.find_grant(ask, caller(4), "pay", ARGS) is None


async def test_the_window_slides(two_owners: list[Owner]) -> None:
    ledger = PolicyLedger(two_owners[0].service)
    few = rule(count=2, per="10m")
    clock = FrozenClock(1_000.0)
    with replace_sources(time=clock):
        for number, seconds in enumerate((0, 300, 200, 150, 1)):
            clock.advance(seconds)
            taken = await ledger.take(few, caller(number), ARGS)
            assert taken is (number not in (2, 4)), number


async def test_grants_end_with_their_time_their_rule_and_by_hand(two_owners: list[Owner]) -> None:
    first, second = (PolicyLedger(owner.service) for owner in two_owners)
    fields = {"id": "ask", "verdict": "ask", "grants": ["session", "user", "1h"]}
    ask = Rule.model_validate(fields)
    clock = FrozenClock(1_000.0)
    with replace_sources(time=clock):
        await first.add_grant(ask, caller(1), "pay", ARGS, "1h")
        assert await second.find_grant(ask, caller(2, session="two"), "pay", ARGS) == "1h"
        assert await second.find_grant(ask, caller(2, user="bob"), "pay", ARGS) is None
        assert await second.find_grant(ask, caller(2), "pay_all", ARGS) is None
        changed = Rule.model_validate({**fields, "tool": "pay"})
        assert await second.find_grant(changed, caller(2), "pay", ARGS) is None
        clock.advance(3_601)
        assert await second.find_grant(ask, caller(2), "pay", ARGS) is None
    await first.add_grant(ask, caller(1), "pay", ARGS, "user")
    await first.add_grant(ask, caller(1), "pay", ARGS, "1h")
    assert await second.find_grant(ask, caller(2, session="two"), "pay", ARGS) == "user"
    assert await second.revoke_grants("talk", "ann", "other") == 0
    assert await second.revoke_grants("talk", "ann") == 1
    assert await first.find_grant(ask, caller(1), "pay", ARGS) is None


async def test_the_ledger_is_hidden_and_goes_with_its_user(two_owners: list[Owner]) -> None:
    service = two_owners[0].service
    ledger = PolicyLedger(service)
    await ledger.take(rule(count=1), caller(1), ARGS)
    assert (await service.list_sessions(app_name="talk", user_id="ann")).sessions == []
    await service.delete_user("talk", "ann")
    assert await ledger.take(rule(count=1), caller(2), ARGS) is True


async def test_a_ledger_that_always_changes_lets_nothing_pass(two_owners: list[Owner]) -> None:
    class Busy(PolicyLedger):
        async def _write(self, session: Any, delta: Any) -> bool:
            return False

    with pytest.raises(StoreError, match="did not run"):
        await Busy(two_owners[0].service).take(rule(), caller(1), ARGS)


async def test_a_call_that_is_taken_again_counts_with_its_new_amount(
    two_owners: list[Owner],
) -> None:
    first, second = (PolicyLedger(owner.service) for owner in two_owners)
    budget = rule(count=None, sum="/amount", max=100)
    assert await first.take(budget, caller(1), {"amount": 10}) is True
    assert await second.take(budget, caller(2), {"amount": 60}) is True
    assert not await second.has_room(budget, caller(1), {"amount": 41})
    assert await second.take(budget, caller(1), {"amount": 41}) is False
    assert await second.take(budget, caller(1), {"amount": 40}) is None
    assert await first.take(budget, caller(3), {"amount": 1}) is False
    assert await first.take(budget, caller(1), {"amount": 5}) is None
    assert await second.take(budget, caller(3), {"amount": 35}) is True


async def test_what_a_call_in_doubt_may_have_spent_stays_counted(two_owners: list[Owner]) -> None:
    first, second = (PolicyLedger(owner.service) for owner in two_owners)
    budget = rule(count=None, sum="/amount", max=100)
    assert await first.take(budget, caller(1), {"amount": 60}) is True
    assert await second.take(budget, caller(1), {"amount": 5}, in_doubt=True) is None
    await second.give_back(budget, caller(1))
    assert await first.take(budget, caller(2), {"amount": 41}) is False
    assert await first.take(budget, caller(1), {"amount": 70}) is None
    await first.give_back(budget, caller(1))
    assert await first.take(budget, caller(2), {"amount": 40}) is True
    await second.give_back(budget, caller(2), in_doubt=True)
    await second.give_back(budget, caller(2))
    assert await first.take(budget, caller(3), {"amount": 1}) is False


async def test_a_call_that_waited_longer_than_the_window_needs_room_again(
    two_owners: list[Owner],
) -> None:
    ledger = PolicyLedger(two_owners[0].service)
    few = rule(count=1, per="10m")
    clock = FrozenClock(1_000.0)
    with replace_sources(time=clock):
        assert await ledger.take(few, caller(1), ARGS) is True
        clock.advance(601)
        assert await ledger.take(few, caller(2), ARGS) is True
        assert await ledger.take(few, caller(1), ARGS) is False
        clock.advance(601)
        assert await ledger.take(few, caller(1), ARGS) is True
        clock.advance(300)
        assert await ledger.take(few, caller(1), ARGS) is None
        clock.advance(301)  # it counts from its last run
        assert await ledger.take(few, caller(3), ARGS) is False


async def test_raises_of_one_amount_at_once_stay_within_the_limit(two_owners: list[Owner]) -> None:
    ledgers = [PolicyLedger(owner.service) for owner in two_owners]
    budget = rule(count=None, sum="/amount", max=100)
    for number in range(5):
        assert await ledgers[0].take(budget, caller(number), {"amount": 10}) is True
    raised = await asyncio.gather(
        *(ledgers[n % 2].take(budget, caller(n), {"amount": 30}) for n in range(5))
    )
    assert raised.count(None) == 2 and raised.count(False) == 3
