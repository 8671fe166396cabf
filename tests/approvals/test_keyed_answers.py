"""Answers with an idempotency key, each in an invocation of its own, beside answers without one:
the agents that wait see the same as if none had a key."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from tests.approvals.kit import PLACE, decide, requests
from tests.approvals.mixed_requests import Bureau, answer, call_behind, find_faults

KEYS = ["first", "second", "both"]
ALL_KINDS = list(product(("pay", "single", "task", "slow", "job"), repeat=2))
resumes = pytest.mark.parametrize("resumable", [False, True], ids=["", "resumable"])


async def settle(
    service: Any,
    kinds: tuple[str, ...],
    place: str,
    resumable: bool,
    order: str,
    keys: str,
    yes: bool,
) -> tuple[str, list[list[str]]]:
    """Answer one request in each message; those named by `keys` have a key.

    Returns:
      What is wrong, and the agents asked in each turn.
    """
    bureau = Bureau(service, kinds, place, resumable=resumable)
    await bureau.say("Go.")
    turns: list[list[str]] = []
    decided: list[str] = []
    while waiting := await bureau.waiting():
        assert len(turns) < 9, "the agents ask without end"
        one = waiting[-1 if order == "newest" else 0]
        is_keyed = len(turns) < 2 and keys in (("first", "second")[len(turns)], "both")
        seen = len(bureau.seen)
        key = f"key {len(turns)}" if is_keyed else None
        await bureau.say(answer([one], yes), idempotency_key=key)
        turns.append([name for name, _ in bureau.seen[seen:]])
        decided += [call_behind(one)] if one.kind == "approval" else []
    faults = find_faults(bureau, await bureau.events(), decided, yes)
    seen = len(bureau.seen)
    await bureau.say("Hello?")
    assert [name for name, _ in bureau.seen[seen:]] == ["root"]
    return faults, turns


async def compare(
    service: Any,
    kinds: tuple[str, ...],
    place: str,
    resumable: bool,
    order: str,
    keys: str,
    yes: bool,
) -> None:
    """Compare with messages without a key. A root that calls agents may be asked in between, and
    has open calls then."""
    faults, turns = await settle(service, kinds, place, resumable, order, keys, yes)
    assert not faults
    if place != "root":
        plain = InMemorySessionService()
        assert turns == (await settle(plain, kinds, place, resumable, order, "", yes))[1]


@resumes
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("place", ["single", "task"])
async def test_a_called_agent_with_two_requests(
    service: Any, place: str, keys: str, resumable: bool
) -> None:
    await compare(service, ("pay", "slow"), place, resumable, "oldest", keys, True)


@resumes
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("kinds", [("single", "task"), ("task", "single"), ("job", "task")])
async def test_a_root_with_a_task_and_a_single_turn_agent(
    kinds: tuple[str, ...], keys: str, resumable: bool
) -> None:
    await compare(InMemorySessionService(), kinds, "root", resumable, "oldest", keys, True)


@pytest.mark.long
@resumes
@pytest.mark.parametrize(("order", "yes"), [("oldest", True), ("newest", False)])
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("place", ["root", "single", "task"])
@pytest.mark.parametrize("kinds", ALL_KINDS, ids="-".join)
async def test_each_pair_of_requests(
    kinds: tuple[str, ...], place: str, keys: str, order: str, yes: bool, resumable: bool
) -> None:
    await compare(InMemorySessionService(), kinds, place, resumable, order, keys, yes)


@resumes
@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
@pytest.mark.parametrize("below", [False, True], ids=["", "nested"])
async def test_a_task_hears_the_user_after_an_answer_with_a_key(
    service: Any, below: bool, yes: bool, resumable: bool
) -> None:
    heard: list[str] = []

    def pay() -> str:
        """Pay."""
        return "paid"

    def reply(request: Any) -> Any:
        heard.append(str(request.contents[-1].parts[-1].text))
        has_called = any(p.function_call for c in request.contents for p in c.parts or ())
        return "Anything else?" if has_called else call("pay")

    agent = LlmAgent(
        name="clerk",
        mode="task",
        model=FunctionModel(reply),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    for name in ("desk", "root") if below else ("root",):
        model = FunctionModel(lambda _, to=agent.name: call(to, request="Pay."))
        mode = "task" if name == "desk" else None
        agent = LlmAgent(name=name, mode=mode, model=model, sub_agents=[agent])
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=agent, resumability_config=config)
    runner = Runner(app=app, session_service=service, auto_create_session=True)

    async def say(message: str | types.Content, **options: Any) -> list[Any]:
        run = runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    (request,) = requests(await say("Go."))
    await say(decide(request, yes), idempotency_key="key")
    for number, key in enumerate((None, None, "other", None)):
        events = await say(f"Words {number}.", idempotency_key=key)
        assert [event.author for event in events] == ["clerk"]
        assert heard[-1] == f"Words {number}." and len(heard) == number + 3
