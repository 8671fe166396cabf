"""What a policy would have stopped in recorded sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.tools.policy import Policy, Rule, dry_run


def rule(id: str, verdict: str, **fields: Any) -> Rule:
    return Rule.model_validate({"id": id, "verdict": verdict, **fields})


def record(number: int, tool: str, args: dict[str, Any], **fields: Any) -> Event:
    call = types.FunctionCall(id=f"c{number}", name=tool, args=args)
    content = types.Content(role="model", parts=[types.Part(function_call=call)])
    return Event(
        **{"author": "clerk", "timestamp": 1000.0 + number, **fields},
        invocation_id="i",
        content=content,
    )


async def recorded(service: Any, user: str, events: list[Event], **state: Any) -> None:
    place = {"app_name": "shop", "user_id": user}
    session = await service.create_session(**place, session_id="s", state=state)
    for event in events:
        await service.append_event(session, event)


@pytest.fixture
async def service() -> Any:
    made = InMemorySessionService()
    mcp = {"ostinato:tools": {"c9": {"kind": "mcp", "source": "files", "operation": "delete"}}}
    asked = types.FunctionCall(id="q", name="adk_request_confirmation", args={})
    gold = EventActions(state_delta={"user:tier": "gold"})
    await recorded(
        made,
        "ann",
        [
            record(1, "pay", {"amount": 5}),
            record(2, "pay", {"amount": 500}),
            Event(
                author="clerk",
                invocation_id="i",
                content=types.Content(role="model", parts=[types.Part(function_call=asked)]),
            ),
            Event(author="clerk", invocation_id="i", actions=gold),
            record(3, "pay", {"amount": 600}),
            record(9, "delete_file", {}, custom_metadata=mcp),
        ],
        region="eu",
    )
    await recorded(made, "bob", [record(4, "pay", {"amount": 7}), record(5, "pay", {"amount": 8})])
    return made


async def outcomes(service: Any, *rules: Rule, **options: Any) -> list[tuple[str, str, str | None]]:
    result = await dry_run(Policy(rules=rules), service, app_name="shop", **options)
    return [(one.call.call_id, one.outcome, one.rule) for one in result.stopped]


async def test_rules_see_arguments_state_source_user_and_agent(service: Any) -> None:
    big = rule(
        "big",
        "deny",
        args={"/amount": {"gt": 100}},
        state={"/user:tier": {"not_in": ["gold"]}, "/region": "eu"},
    )
    server = rule("server", "ask", source="mcp:files/*")
    bob = rule("bob", "deny", user="bob", agent="clerk", args={"/amount": 8})
    found = await outcomes(service, big, server, bob)
    assert found == [("c2", "deny", "big"), ("c5", "deny", "bob"), ("c9", "ask", "server")]


async def test_limits_are_counted_in_the_order_of_time(service: Any) -> None:
    few = rule("few", "allow", tool="pay", limit={"count": 2, "per": "hour", "by": "app"})
    assert [one[0] for one in await outcomes(service, few)] == ["c3", "c4", "c5"]
    few = rule("few", "allow", tool="pay", limit={"count": 1, "per": "1s"})
    assert await outcomes(service, few) == []
    total = rule("sum", "allow", limit={"sum": "/amount", "max": 505, "per": "day"})
    assert await outcomes(service, total) == [("c3", "limit", "sum"), ("c9", "limit", "sum")]
    limit = {"sum": "/amount", "max": 505, "per": "day", "over": "ask"}
    asking = rule("asking", "allow", limit=limit)
    assert await outcomes(service, asking, total) == [
        ("c3", "limit", "sum"),
        ("c9", "limit", "sum"),
    ]
    assert await outcomes(service, asking) == [("c3", "over", "asking"), ("c9", "over", "asking")]


async def test_only_what_is_asked_for_is_read(service: Any) -> None:
    every = rule("all", "deny")
    assert len(await outcomes(service, every)) == 6
    assert len(await outcomes(service, every, user_id="bob")) == 2
    assert len(await outcomes(service, every, since=1004.0)) == 3
    result = await dry_run(Policy(rules=(every,)), service, app_name="shop")
    assert (result.sessions, result.calls, result.unknown_sources) == (2, 6, 5)
    assert result.to_json()["rules"] == [{"rule": "all", "outcome": "deny", "calls": 6}]


async def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    await recorded(store, "ann", [record(n, "pay", {"amount": n}) for n in range(250)])
    before = (await store.get_session(app_name="shop", user_id="ann", session_id="s")).events  # type: ignore[union-attr]
    few = rule("few", "allow", limit={"count": 200, "per": "day"})
    result = await dry_run(Policy(rules=(few,)), store)
    assert (result.calls, len(result.stopped)) == (250, 50)
    after = (await store.get_session(app_name="shop", user_id="ann", session_id="s")).events  # type: ignore[union-attr]
    assert len(after) == len(before)
    await store.close()


async def test_a_call_without_a_recorded_source_counts_as_a_functions() -> None:
    store = InMemorySessionService()
    answer = types.FunctionResponse(id="c2", name="payer", response={"result": "paid"})
    await recorded(
        store,
        "ann",
        [
            record(1, "pay", {"amount": 5}),
            record(2, "payer", {"request": "Pay"}),
            Event(
                author="clerk",
                invocation_id="i",
                content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
                custom_metadata={"policy": {"c2": {"verdict": "allow", "source": "agent:payer"}}},
            ),
            record(3, "transfer_to_agent", {"agent_name": "bob"}),
        ],
    )
    function = rule("function", "deny", source="function")
    payer = rule("payer", "ask", source="agent:payer")
    bob = rule("bob", "deny", source="agent:bob")
    found = await outcomes(store, function, payer, bob)
    assert found == [("c1", "deny", "function"), ("c2", "ask", "payer"), ("c3", "deny", "bob")]
    result = await dry_run(Policy(rules=(function,)), store, app_name="shop")
    assert result.unknown_sources == 1


async def test_rules_that_fit_no_call_are_named(service: Any) -> None:
    few = rule("few", "allow", tool="pay", limit={"count": 9, "per": "day"})
    rules = [
        few,
        rule("pya", "ask", tool="pya"),
        rule("huge", "deny", args={"/amount": {"gt": 999}}),
    ]
    rules += [rule("pay", "allow", tool="pay", args={"/amount": 5})]
    result = await dry_run(Policy(rules=tuple(rules)), service, app_name="shop")
    assert result.idle_rules == ["pya", "huge"] == result.to_json()["idleRules"]
