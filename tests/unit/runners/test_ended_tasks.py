"""A message for a task that ends before the message's turn comes."""

from __future__ import annotations

import asyncio
from typing import Any

from ostinato.agents import LlmAgent
from ostinato.apps import ResumabilityConfig
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import Talk
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners


def make_talk(owner: Owner, root: list[Any], payer: list[Any], tools: list[Any]) -> Talk:
    task = LlmAgent(
        name="payer", description="", mode="task", model=ScriptedModel(payer), tools=tools
    )
    shop = LlmAgent(name="shop", model=ScriptedModel(root), sub_agents=[task])
    return Talk(shop, owner.store, resumability_config=ResumabilityConfig(is_resumable=True))


async def test_it_begins_an_invocation_of_its_own_and_is_answered(two_owners: list[Owner]) -> None:
    one, two = two_owners
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        begun.set()
        await may_end.wait()
        return "paid"

    ours = make_talk(
        one,
        [call("payer", request="Pay."), "The task is done."],
        ["How much?", call("pay"), call("finish_task", result="paid")],
        [pay],
    )
    assert final_text(await ours.say("go")) == "How much?"
    theirs = make_talk(two, ["To the next.", "And on."], [], [])
    answer = asyncio.create_task(ours.say("five"))
    await begun.wait()
    later = asyncio.create_task(theirs.say("What else?"))
    await two.has_message()
    may_end.set()
    await answer
    events = await later
    assert final_text(events) == "To the next."
    [first] = {event.invocation_id for event in ours.seen}
    assert {event.invocation_id for event in events} != {first}
    assert final_text(await theirs.say("More?")) == "And on."
    await ours.check_sound()
